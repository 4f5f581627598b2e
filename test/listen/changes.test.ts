// Where changes come from: handlers of every kind, in every era, and code outside of them. A change made by a call is
// stored before the call is answered, and what changes in a burst is told once.
// @see server/tools, prompts, resources, List Changed Notification; server/resources, Subscriptions

import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { notifier } from '../../durable-objects/ports.ts'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  ProtocolError,
  ToolError,
  type Server,
} from '../../src/server/index.ts'
import { describeEras, legacy, LEGACY, legacySession, modern, REVISIONS, TASKS } from '../support/client.ts'
import { hubsOf } from '../support/main.ts'
import { serve } from '../support/serve.ts'
import { change, changesOf, eventually, gate, listen, notifyOf, publish, withLimits } from './support.ts'

const Changes = z.object({ changes: z.array(z.string()) })
const failing = defineTool('failing', {
  description: 'Says that things changed, and fails.',
  inputSchema: Changes,
  handler({ changes }, ctx) {
    notifyOf(ctx, changes)
    throw new ToolError('Cannot do more')
  },
})
const refusing = defineTool('refusing', {
  description: 'Says that things changed, and ends in a JSON-RPC error.',
  inputSchema: Changes,
  handler({ changes }, ctx) {
    notifyOf(ctx, changes)
    throw new ProtocolError(1001, 'Could not reserve: sold out')
  },
})
const slow = defineTool('slow', {
  description: 'Says that things changed while it reports progress.',
  inputSchema: Changes,
  async handler({ changes }, ctx) {
    ctx.progress(1)
    await scheduler.wait(1)
    notifyOf(ctx, changes)
    await scheduler.wait(1)
    ctx.progress(2)
    return 'changed'
  },
})
const asking = defineTool('asking', {
  description: 'Says that things changed once the user agrees.',
  inputSchema: Changes,
  async handler({ changes }, ctx) {
    await ctx.elicit('sure', { message: 'Sure?', schema: z.object({}) })
    notifyOf(ctx, changes)
    return 'changed'
  },
})
const work = defineTool('work', {
  description: 'Says that things changed, as a task.',
  inputSchema: Changes,
  task: { support: 'optional' },
  async handler({ changes }, ctx) {
    await ctx.step('work', () => scheduler.wait(1))
    notifyOf(ctx, changes)
    return 'changed'
  },
})
const prompt = definePrompt('prompt', {
  description: 'Says that prompts changed.',
  get(_input, ctx) {
    ctx.notify.promptsListChanged()
    return 'ok'
  },
})
const counted = defineResource('test://counted', {
  name: 'counted',
  read(ctx) {
    ctx.notify.resourceUpdated('test://pages/counter')
    return 'read'
  },
})
const pages = defineResourceTemplate('test://pages/{id}', {
  name: 'pages',
  read({ id }, ctx) {
    ctx.notify.resourcesListChanged()
    return id
  },
})

const EVERYTHING = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['test://counted', 'test://pages/counter', 'test://pages/a'],
}
const server = (): Server =>
  defineServer({
    name: 'changes',
    version: '1.0.0',
    tools: [change, failing, refusing, slow, asking, work],
    prompts: [prompt],
    resources: [counted, pages],
  })

let lines: string[] = []
beforeEach(() => {
  vi.restoreAllMocks()
  lines = []
  vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line))
})

/** A server, its fetcher, and a stream that is told of everything. */
async function listening(vars: Partial<Cloudflare.Env> = {}) {
  const changing = server()
  const fetcher = serve(changing, { vars })
  const stream = await listen(modern(fetcher), EVERYTHING)
  return { changing, fetcher, stream }
}

describeEras('a change by', (_client, revision) => {
  const isModern = revision === REVISIONS.at(-1)
  const clientOf = (fetcher: ReturnType<typeof serve>) => {
    const old = revision as (typeof LEGACY)[number]
    return isModern ? modern(fetcher, { capabilities: { elicitation: {} } }) : legacy(fetcher, old)
  }

  test.for(['change', 'slow', 'failing', 'work'])('a call of the tool "%s" reaches who listens', async (name) => {
    const { fetcher, stream } = await listening()
    const { result } = await clientOf(fetcher).call(
      name,
      { changes: ['tools', 'test://pages/a'] },
      { progressToken: 'p' },
    )
    expect(result.isError).toBe(name === 'failing' ? true : undefined)
    expect(await stream.told(2)).toEqual(['tools', 'resource test://pages/a'])
  })

  test('prompts/get and resources/read reaches who listens', async () => {
    withLimits({ hubWindowMs: 0 })
    const { fetcher, stream } = await listening()
    const client = clientOf(fetcher)
    await client.result('prompts/get', { name: 'prompt' })
    await client.result('resources/read', { uri: 'test://counted' })
    await client.result('resources/read', { uri: 'test://pages/b' })
    expect(await stream.told(3)).toEqual(['prompts', 'resource test://pages/counter', 'resources'])
  })

  test('a handler that says something of what is no URI is a fault of the handler, and tells nobody', async () => {
    const { fetcher, stream } = await listening()
    const { result } = await clientOf(fetcher).call('change', { changes: ['no URI'] })
    expect(result).toMatchObject({ isError: true })
    expect(lines.join()).toContain('a URI has a scheme and no spaces')
    await clientOf(fetcher).call('change', { changes: ['prompts'] })
    expect(await stream.told(1)).toEqual(['prompts'])
  })
})

describe('a change by', () => {
  test.for(LEGACY)('a call in a session of %s reaches who listens', async (revision) => {
    withLimits({ hubWindowMs: 0 })
    const { fetcher, stream } = await listening()
    const session = await legacySession(fetcher, revision)
    await session.call('change', { changes: ['tools', 'test://counted'] })
    expect(await stream.told(2)).toEqual(['tools', 'resource test://counted'])
    const params = { name: 'slow', arguments: { changes: ['prompts'] } }
    await (await session.stream('tools/call', params, { progressToken: 1 })).rest()
    expect(await stream.told(1)).toEqual(['prompts'])
    await session.result('prompts/get', { name: 'prompt' })
    await session.result('resources/read', { uri: 'test://counted' })
    expect(await stream.told(2)).toEqual(['prompts', 'resource test://pages/counter'])
  })

  test.for(['with a session', 'without a session'])('each call of a batch %s reaches who listens', async (how) => {
    const { fetcher, stream } = await listening()
    const client = how.startsWith('without') ? legacy(fetcher, '2025-03-26') : undefined
    const session = client ? undefined : await legacySession(fetcher, '2025-03-26')
    const call = (id: number, change: string) => {
      return { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'change', arguments: { changes: [change] } } }
    }
    const batch = [call(1, 'tools'), call(2, 'test://pages/a'), { jsonrpc: '2.0', id: 3, method: 'ping' }]
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      ...(session && { 'mcp-session-id': session.id }),
    }
    const { messages } = await (client ?? session!).raw({ body: JSON.stringify(batch), headers })
    expect(messages).toHaveLength(3)
    expect((await stream.told(2)).toSorted()).toEqual(['resource test://pages/a', 'tools'])
  })

  test('a task reaches who listens, in both forms, before the task is completed', async () => {
    withLimits({ hubWindowMs: 0 })
    const { changing, fetcher, stream } = await listening()
    for (const client of [modern(fetcher, { capabilities: TASKS }), legacy(fetcher, '2025-11-25')]) {
      const { taskId } = await client.callTask('work', { changes: ['tools', 'test://counted'] })
      expect((await client.settled(taskId)).status).toBe('completed')
      expect(await changesOf(changing)).toEqual(['tools', 'resource test://counted'])
      expect(await stream.told(2)).toEqual(['tools', 'resource test://counted'])
    }
  })

  test('a call that asks first reaches who listens once it is answered', async () => {
    const { fetcher, stream } = await listening()
    const client = modern(fetcher, { capabilities: { elicitation: {} } })
    const answers = { sure: { action: 'accept', content: {} } }
    await client.answer('asking', { changes: ['resources'] }, { answers })
    expect(await stream.told(1)).toEqual(['resources'])
  })

  test('code outside of handlers reaches who listens, and what is no URI is refused', async () => {
    withLimits({ hubWindowMs: 0 })
    const { changing, stream } = await listening()
    const notify = notifier(env, hubsOf(changing))
    await notify.toolsListChanged()
    await notify.promptsListChanged()
    await notify.resourcesListChanged()
    await notify.resourceUpdated('test://counted')
    await expect(notify.resourceUpdated('counted')).rejects.toThrow(TypeError)
    expect(await stream.told(4)).toEqual(['tools', 'prompts', 'resources', 'resource test://counted'])
  })
})

/** The hubs of the platform, with something before each publish. */
function hubsAfter(before: () => Promise<void>): Partial<Cloudflare.Env> {
  const LISTEN_HUB = new Proxy(env.LISTEN_HUB, {
    get(namespace, name) {
      const member = (Reflect.get(namespace, name, namespace) as (...args: unknown[]) => object).bind(namespace)
      if (name !== 'getByName') return member
      return (...args: unknown[]) => {
        const hub = member(...args) as { publish(...given: unknown[]): Promise<unknown>; fetch: typeof fetch }
        const publish = async (...given: unknown[]) => {
          await before()
          return hub.publish(...given)
        }
        return { publish, fetch: (request: Request) => hub.fetch(request) }
      }
    },
  })
  return { LISTEN_HUB }
}

describe('a call', () => {
  test('is answered when what it changed is stored, and not before', async () => {
    withLimits({ publishWaitMs: 60_000 })
    const { opened, open } = gate()
    let asked = 0
    const vars = hubsAfter(() => {
      asked++
      return opened
    })
    const { changing, fetcher, stream } = await listening(vars)
    let answered = 0
    const calls = [
      modern(fetcher).call('change', { changes: ['tools'] }),
      legacy(fetcher, '2025-06-18').call('change', { changes: ['prompts'] }),
      modern(fetcher).result('resources/read', { uri: 'test://counted' }),
      modern(fetcher).error('tools/call', { name: 'refusing', arguments: { changes: ['resources'] } }),
    ].map(async (call) => {
      await call
      answered++
    })
    await eventually(() => asked === 4)
    await scheduler.wait(50)
    expect([answered, await changesOf(changing)]).toEqual([0, []])
    open()
    await Promise.all(calls)
    const all = ['prompts', 'resource test://pages/counter', 'resources', 'tools']
    expect((await changesOf(changing)).toSorted()).toEqual(all)
    expect((await stream.told(4)).toSorted()).toEqual(all)
  })

  test('in a session, or a task, is answered or completed when what it changed is stored, and not before', async () => {
    withLimits({ publishWaitMs: 60_000 })
    const { changing, fetcher, stream } = await listening()
    const hubs = hubsOf(changing)
    const { publish: store } = hubs
    let [asked, isOpen] = [0, false]
    // Looked at again and again: what a test settles would go on outside of the object that waits for it.
    vi.spyOn(hubs, 'publish').mockImplementation(async (bindings, topics) => {
      asked++
      while (!isOpen) await scheduler.wait(1)
      return store(bindings, topics)
    })
    const session = await legacySession(fetcher, '2025-11-25')
    const client = modern(fetcher, { capabilities: TASKS })
    let isAnswered = false
    const call = session.call('change', { changes: ['prompts'] }).then(() => (isAnswered = true))
    const { taskId } = await client.callTask('work', { changes: ['tools'] })
    await eventually(() => asked === 2)
    await scheduler.wait(50)
    expect([isAnswered, (await client.task(taskId)).status, await changesOf(changing)]).toEqual([false, 'working', []])
    isOpen = true
    await call
    await client.settled(taskId)
    expect((await changesOf(changing)).toSorted()).toEqual(['prompts', 'tools'])
    expect((await stream.told(2)).toSorted()).toEqual(['prompts', 'tools'])
  })

  test('that changed nothing does not wait for others', async () => {
    withLimits({ publishWaitMs: 60_000 })
    const { opened, open } = gate()
    const { fetcher } = await listening(hubsAfter(() => opened))
    const waiting = modern(fetcher).call('change', { changes: ['tools'] })
    await modern(fetcher).call('change', { changes: [] })
    open()
    await waiting
  })

  test('is answered after limits.publishWaitMs all the same, and who listens is told when it is stored', async () => {
    withLimits({ publishWaitMs: 30 })
    const { opened, open } = gate()
    const { changing, fetcher, stream } = await listening(hubsAfter(() => opened))
    const { result } = await modern(fetcher).call('change', { changes: ['tools'] })
    expect([result.content[0]?.text, await changesOf(changing)]).toEqual(['changed', []])
    open()
    expect(await stream.told(1)).toEqual(['tools'])
  })

  test('is answered also when its change cannot be stored, which the operator is told', async () => {
    withLimits({ publishMs: 0 })
    const { fetcher } = await listening(hubsAfter(() => Promise.reject(new Error('no hub today'))))
    const { result } = await modern(fetcher).call('change', { changes: ['tools'] })
    expect(result.content[0]?.text).toBe('changed')
    await eventually(() => lines.some((line) => line.includes('no hub today')))
  })

  test('publishes what it says at once together, each thing once', async () => {
    const published: number[] = []
    const { fetcher, stream } = await listening(hubsAfter(async () => void published.push(1)))
    await modern(fetcher).call('change', { changes: ['tools', 'prompts', 'tools', 'test://pages/a', 'prompts'] })
    expect(await stream.told(3)).toEqual(['tools', 'prompts', 'resource test://pages/a'])
    expect(published).toHaveLength(1)
  })
})

describe('a burst', () => {
  test('is told at once by its first change, and the rest together, each thing once', async () => {
    withLimits({ hubWindowMs: 2_000 })
    const { changing, fetcher, stream } = await listening()
    await publish(changing, 'tools')
    expect(await stream.told(1)).toEqual(['tools'])
    for (let i = 0; i < 50; i++) {
      await publish(changing, 'prompts', 'resource test://counted')
      await publish(changing, 'tools', 'resource test://pages/a', 'resource test://counted')
      if (i % 10 === 0) await scheduler.wait(5)
    }
    const later = await listen(modern(fetcher), EVERYTHING)
    const all = ['prompts', 'resource test://counted', 'tools', 'resource test://pages/a']
    expect(await stream.told(4)).toEqual(all)
    await publish(changing, 'resources')
    expect(await stream.told(1)).toEqual(['resources'])
    // It came after all of them, though before they were told.
    expect(await later.told(1)).toEqual(['resources'])
  })

  test('is over after limits.hubWindowMs', async () => {
    withLimits({ hubWindowMs: 50 })
    const { changing, stream } = await listening()
    for (let i = 0; i < 3; i++) {
      await publish(changing, 'tools')
      expect(await stream.told(1)).toEqual(['tools'])
    }
  })
})
