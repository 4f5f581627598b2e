// mcpdo, the Inspector's other command line: a daemon keeps the connection, and questions are answered by a command.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { environmentIn, nameAndVersion, packageFile, runScript, watchDaemon } from '../lib/command.mjs'
import { playExtra } from '../lib/extra.mjs'
import { playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/inspector')} mcpdo --era auto`

const script = packageFile('@modelcontextprotocol/inspector', 'clients/mcpdo/build/mcp-bin.js')

export async function play({ notes, extra, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'mcpdo', handshake: 'server/discover', revision: '2026-07-28', asks: true }
  const run = commandIn(home)
  const daemon = watchDaemon(() => readPid(home))
  try {
    const client = adapt((...args) => run('--connection', 'notes', ...args))
    await run('--connection', 'notes', 'connect', notes.url, '--era', 'auto')
    daemon.note()
    await playNotes(table, client, notes, expected)
    const other = adapt((...args) => run('--connection', 'extra', ...args))
    other.cannot = {
      sampling: 'it declares no sampling',
      roots: () => checkNoRoots(other),
      cancel: 'it has no way to cancel a call',
    }
    await run('--connection', 'extra', 'connect', extra.url, '--era', 'auto')
    await playExtra(table, other, extra, expected)
    await run('daemon', 'stop')
  } finally {
    await daemon.end()
  }
  return rows
}

async function checkNoRoots(client) {
  const { content } = await client.callTool('ask_roots', {})
  assert.equal(content[0].text, '[]')
  return 'it declares roots, answers by itself, and has none'
}

function commandIn(home) {
  const secrets = { MCP_INSPECTOR_DAEMON_TOKEN: 'interop', MCP_INSPECTOR_SECRET_STORE: 'file' }
  const env = environmentIn(home, { ...secrets, MCP_INSPECTOR_DAEMON_DIR: join(home, 'd') })
  return async (...args) => {
    const { stdout, stderr } = await runScript(script, ['--format', 'json', '--plain', ...args], env)
    // Lines about where secrets are kept may come first.
    if (stdout === '') throw new Error(JSON.parse(/^\{.*/m.exec(stderr)[0]).error.message)
    return JSON.parse(stdout)
  }
}

function readPid(home) {
  try {
    return Number(readFileSync(join(home, 'd', 'mcpdod.lock'), 'utf8')) || undefined
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function adapt(run) {
  return {
    cannot: {},
    showsProgress: false,
    async about() {
      const { serverInfo, protocolVersion } = await run('connections/show')
      return { serverInfo, negotiated: protocolVersion }
    },
    listTools: async () => (await run('tools/list')).tools,
    listResources: async () => (await run('resources/list')).resources,
    listTemplates: async () => (await run('resources/templates/list')).resourceTemplates,
    listPrompts: async () => (await run('prompts/list')).prompts,
    read: async (uri) => (await run('resources/read', uri)).contents,
    async getPrompt(name, args) {
      const pairs = Object.entries(args).map(([key, value]) => `${key}=${value}`)
      return (await run('prompts/get', name, '--prompt-args', ...pairs)).messages
    },
    async complete({ type, name, uri }, argument) {
      const ref = ['--complete-ref-type', type, '--complete-ref', name ?? uri]
      const typed = ['--complete-arg-name', argument.name, '--complete-arg-value', argument.value]
      const result = await run('prompts/complete', ...ref, ...typed)
      return result.completion ?? result
    },
    async callTool(name, args, { onProgress } = {}) {
      const token = onProgress ? ['--tool-metadata', 'progressToken=interop'] : []
      let result = await run('tools/call', name, '--tool-args-json', JSON.stringify(args), ...token)
      while (result.elicitationPending) {
        const { action, content } = this.answer(result.elicitationPending)
        const given = action === 'accept' ? [JSON.stringify(content)] : [`--${action}`]
        result = await run('elicitation/respond', result.elicitationPending.elicitationId, ...given)
      }
      return result
    },
  }
}
