// Fingerprints of a server's lists: the same in every isolate that has the same definitions.

import { fingerprint } from './canonical.ts'
import type { Server } from './define-server.ts'
import type { ListMarks } from './listen-port.ts'

const known = new WeakMap<Server, ListMarks>()

/** The marks of a definition. Only what is listed counts: a handler may change without anybody being told. */
export function listMarks(server: Server): ListMarks {
  let marks = known.get(server)
  if (!marks) {
    const { tools, prompts, resources, templates } = server
    marks = {
      tools: markOf([...tools.values()]),
      prompts: markOf([...prompts.values()]),
      resources: markOf([...resources.values(), ...templates]),
    }
    known.set(server, marks)
  }
  return marks
}

function markOf(entries: readonly { listed: object }[]): string {
  return fingerprint(entries.map(({ listed }) => listed))
}
