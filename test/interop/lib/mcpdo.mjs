// mcpdo, the Inspector's other command line: a daemon keeps the connections, and questions are answered by a command.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { change, newPlace, uriOf, WORKERS } from './change.mjs'
import { environmentIn, packageFile, runScript, startScript, watchDaemon } from './command.mjs'
import { taskOf } from './tasks.mjs'
import { until } from './until.mjs'
import { callsOf } from './wire.mjs'

/** Each command is a process of its own, which takes a while to start where others do so too. */
const commandMs = 10_000
const script = packageFile('@modelcontextprotocol/inspector', 'clients/mcpdo/build/mcp-bin.js')

/** Runs `use` with a daemon of its own: `connect(name, wire, era)` gives an adapter for a connection. */
export async function withMcpdo(home, use) {
  const { run, watch } = commandsIn(home)
  const daemon = watchDaemon(() => readPid(home))
  const open = async (name, { url }, era) => {
    await run('--connection', name, 'connect', url, '--era', era)
    daemon.note()
    return (...args) => run('--connection', name, ...args)
  }
  try {
    await use(async (name, wire, era) => {
      const adapter = adapt(await open(name, wire, era))
      return Object.assign(
        adapter,
        { watch: (uri) => watch('--connection', name, 'resources/subscribe', uri) },
        adaptTasks(adapter, wire, era, () => open(`${name}-beside`, wire, era)),
      )
    })
    await run('daemon', 'stop')
  } finally {
    await daemon.end()
  }
}

function commandsIn(home) {
  const secrets = { MCP_INSPECTOR_DAEMON_TOKEN: 'interop', MCP_INSPECTOR_SECRET_STORE: 'file' }
  const env = environmentIn(home, { ...secrets, MCP_INSPECTOR_DAEMON_DIR: join(home, 'd') })
  const flags = ['--format', 'json', '--plain']
  return {
    async run(...args) {
      const { stdout, stderr } = await runScript(script, [...flags, ...args], env)
      // Lines about where secrets are kept may come first.
      if (stdout === '') throw new Error(JSON.parse(/^\{.*/m.exec(stderr)[0]).error.message)
      return JSON.parse(stdout)
    },
    /** A command that goes on until `stop()`. `types` are those of what it has printed. */
    watch(...args) {
      const { stdout, stop } = startScript(script, [...flags, ...args], env)
      return { types: () => [...stdout().matchAll(/"type": "(.+)"/g)].map(([, type]) => type), stop }
    },
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
    async callTool(name, args, { onProgress, flags = [] } = {}) {
      const token = onProgress ? ['--tool-metadata', 'progressToken=interop'] : []
      let result = await run('tools/call', name, '--tool-args-json', JSON.stringify(args), ...token, ...flags)
      while (result.elicitationPending) {
        const { action, content } = this.answer(result.elicitationPending)
        const given = action === 'accept' ? [JSON.stringify(content)] : [`--${action}`]
        result = await run('elicitation/respond', result.elicitationPending.elicitationId, ...given)
      }
      return result
    },
  }
}

/** @param openBeside another connection: one that waits for a task does nothing else meanwhile */
function adaptTasks(adapter, wire, era, openBeside) {
  // On the modern revision the server decides.
  const flags = era === 'legacy' ? ['--task'] : []
  let opened
  const beside = async (...args) => (await (opened ??= openBeside()))(...args)
  return {
    runTask: (name, args, options) => adapter.callTool(name, args, { ...options, flags }),
    async startTask(name, args) {
      const { length: before } = callsOf(wire, name)
      adapter.waiting = this.runTask(name, args)
      adapter.waiting.catch(() => {})
      await until(() => callsOf(wire, name)[before]?.endedAt, 'the task was made', commandMs)
      return taskOf(callsOf(wire, name)[before])
    },
    getTask: async (taskId) => (await beside('tasks/get', taskId)).task,
    taskResult: (taskId) => beside('tasks/result', taskId),
    cancelTask: (taskId) => beside('tasks/cancel', taskId),
  }
}

/** A command that watches a resource, and what it prints when others change that in each of two Workers. */
export async function checkWatch(client, wire) {
  const place = newPlace()
  const watching = client.watch(uriOf(place))
  try {
    await until(() => watching.types().includes('subscribed'), 'the command said that it watches', commandMs)
    for (const [i, worker] of WORKERS.entries()) {
      await change(wire, worker, { places: [newPlace(), place] })
      await until(() => watching.types().length === i + 2, `the command told of the change in the ${worker} Worker`)
    }
    assert.deepEqual(watching.types(), ['subscribed', 'resources/updated', 'resources/updated'])
  } finally {
    await watching.stop()
  }
}
