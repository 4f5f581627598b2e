// The official client as it is without options, which is the legacy handshake.
import { playClient2 } from '../lib/client-2.mjs'
import { nameAndVersion } from '../lib/command.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/client')}, its default (legacy)`

export function play(setting) {
  const expected = { slug: 'default', handshake: 'initialize', revision: '2025-11-25', asks: true }
  return playClient2(setting, 'legacy', expected)
}
