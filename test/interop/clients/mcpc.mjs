// mcpc, a command line with a background process that keeps the connection.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { environmentIn, nameAndVersion, packageFile, runScript, watchDaemon } from '../lib/command.mjs'
import { checkRefusedGet, playNotes } from '../lib/notes.mjs'
import { createRows } from '../lib/rows.mjs'

export const title = nameAndVersion('@apify/mcpc')

const script = packageFile('@apify/mcpc', 'bin/mcpc')
const session = '@interop'

export async function play({ notes, home }) {
  const { rows, table } = createRows()
  const expected = { slug: 'mcpc', handshake: 'initialize', revision: '2025-11-25', asks: false }
  const run = commandIn(home)
  const bridge = watchDaemon(() => readPid(home))
  try {
    await run('connect', notes.url, session)
    bridge.note()
    await playNotes(table, adapt(run), notes, expected)
    await table.add('GET refused', () => checkRefusedGet(notes))
    await run('close', session)
  } finally {
    await bridge.end()
  }
  return rows
}

function commandIn(home) {
  const env = environmentIn(home, { MCPC_HOME_DIR: join(home, 'm') })
  return async (...args) => {
    const { stdout, stderr } = await runScript(script, ['--json', ...args], env)
    // With --json an error is one JSON object on stderr, and nothing is on stdout.
    if (stdout === '') throw new Error(JSON.parse(stderr).error.replace(/\. For details, .*/s, ''))
    return JSON.parse(stdout)
  }
}

function readPid(home) {
  try {
    return JSON.parse(readFileSync(join(home, 'm', 'sessions.json'), 'utf8')).sessions[session]?.pid
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function adapt(run) {
  return {
    cannot: {
      complete: 'it has no method for completion',
      progress: 'it asks for progress of tasks only',
    },
    async about() {
      const { serverInfo, protocolVersion } = await run(session)
      return { serverInfo, negotiated: protocolVersion }
    },
    listTools: () => run(session, 'tools-list', '--full'),
    listResources: () => run(session, 'resources-list'),
    listTemplates: () => run(session, 'resources-templates-list'),
    listPrompts: () => run(session, 'prompts-list'),
    read: async (uri) => (await run(session, 'resources-read', uri)).contents,
    getPrompt: async (name, args) => (await run(session, 'prompts-get', name, JSON.stringify(args))).messages,
    callTool: (name, args) => run(session, 'tools-call', name, JSON.stringify(args)),
  }
}
