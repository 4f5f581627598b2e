// mcpc, a command line with a background process that keeps the connection.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { environmentIn, packageFile, runScript, watchDaemon } from './command.mjs'
import { checkOrdinary } from './tasks.mjs'

const script = packageFile('@apify/mcpc', 'bin/mcpc')

/** Connects to the `url` of a server with further flags, and closes after use. */
export async function inSession(home, session, { url, flags = [] }, use) {
  const run = commandIn(home)
  const bridge = watchDaemon(() => readPid(home, session))
  try {
    await run('connect', url, session, ...flags)
    bridge.note()
    await use(adapt(run, session))
    await run('close', session)
  } finally {
    await bridge.end()
  }
}

/** Runs one command and gives what it prints, as JSON. */
export function commandIn(home) {
  const env = environmentIn(home, { MCPC_HOME_DIR: join(home, 'm') })
  return async (...args) => {
    const { stdout, stderr } = await runScript(script, ['--json', ...args], env)
    // With --json an error is one JSON object on stderr, and nothing is on stdout.
    if (stdout === '') throw new Error(JSON.parse(stderr).error.replace(/\. For details, .*/s, ''))
    return JSON.parse(stdout)
  }
}

function readPid(home, session) {
  return readSession(home, session)?.pid
}

/** What it keeps of a session. */
export function readSession(home, session) {
  try {
    return JSON.parse(readFileSync(join(home, 'm', 'sessions.json'), 'utf8')).sessions[session]
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function adapt(run, session) {
  const adapter = {
    cannot: {
      complete: 'it has no method for completion',
      progress: async (wire) => `it asks for progress of tasks only; ${await checkOrdinary(adapter, wire)}`,
    },
    showsProgress: false,
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
    subscribe: (uri) => run(session, 'resources-subscribe', uri),
    setLevel: (level) => run(session, 'logging-set-level', level),
    callTool: (name, args) => run(session, 'tools-call', name, JSON.stringify(args)),
    runTask: (name, args) => run(session, 'tools-call', name, JSON.stringify(args), '--task'),
    startTask: (name, args) => run(session, 'tools-call', name, JSON.stringify(args), '--detach'),
    getTask: (taskId) => run(session, 'tasks-get', taskId),
    taskResult: (taskId) => run(session, 'tasks-result', taskId),
    cancelTask: (taskId) => run(session, 'tasks-cancel', taskId),
    listTasks: () => run(session, 'tasks-list'),
  }
  return adapter
}
