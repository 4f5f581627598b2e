// Publishers: each way there is to change something and to say so.

import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../../src/limits.ts'
import { bodyOf, exchange, isCut } from './http.mjs'
import { TOPICS } from './listen-world.mjs'
import { LegacyClient, ModernClient } from './task-clients.mjs'

/** How something is published. */
export const WAYS = ['in the first Worker', 'in the second Worker', 'in a session', 'in a task', 'outside of a handler']
/** How long a task that changes something is waited for. */
const taskMs = 20_000

/** Changes all kinds of things in all kinds of ways. */
export async function publish(world, changes) {
  const { random } = world
  const left = Array.from({ length: changes }, () => random.pick(TOPICS))
  const work = WAYS.map(async (way) => {
    const publisher = await publisherFor(world, way)
    for (let topic = left.pop(); topic !== undefined; topic = left.pop()) {
      await change(world, topic, publisher)
      await sleep(random.between(20, 300))
    }
  })
  await Promise.all(work)
}

/** Changes everything once, in one of all ways. */
export async function changeAll(world) {
  await Promise.all(TOPICS.map((topic, i) => changeIn(world, WAYS[i % WAYS.length], topic)))
}

export async function changeIn(world, way, topic) {
  await change(world, topic, await publisherFor(world, way))
}

function publisherFor(world, way) {
  const { publishers } = world
  if (!publishers.has(way)) publishers.set(way, newPublisher(world, way))
  return publishers.get(way)
}

/** Changes a topic. Gives the version, or undefined where nobody knows whether it was. */
async function newPublisher(world, way) {
  const { ports } = world.server
  if (way === 'outside of a handler') {
    return { waits: true, change: (topic) => changeOutside(world, ports[1], topic) }
  }
  const client =
    way === 'in a session'
      ? new LegacyClient(world)
      : new ModernClient(world, { port: ports[way === 'in the first Worker' ? 0 : 1] })
  await client.open()
  if (way === 'in a task') return { change: (topic) => changeInTask(client, topic) }
  const change = async (topic) => {
    const { result, error } = (await client.askOrNot('tools/call', { name: 'change', arguments: { topic } })) ?? {}
    world.ledger.check('no internal error', error === undefined, () => JSON.stringify(error))
    return result && result.isError !== true ? Number(result.content[0].text) : undefined
  }
  return { change }
}

async function changeInTask(client, topic) {
  const { taskId } = (await client.create('change_in_task', { topic })) ?? {}
  for (const end = Date.now() + taskMs; taskId !== undefined && Date.now() < end; await sleep(50)) {
    const { status, outcome } = (await client.look(taskId)) ?? {}
    if (status === 'completed') return Number(outcome.text)
    if (status !== 'working') return undefined
  }
  return undefined
}

/** The same as code outside of a handler does. */
async function changeOutside({ ledger }, port, topic) {
  try {
    const response = await exchange({ port, method: 'POST', path: `/change?topic=${encodeURIComponent(topic)}` })
    const text = await bodyOf(response)
    if (text === undefined) return undefined
    ledger.check('no 5xx but 503', response.statusCode === 200, () => `/change: ${response.statusCode} ${text}`)
    return response.statusCode === 200 ? Number(text) : undefined
  } catch (error) {
    if (!isCut(error)) throw error
    return undefined
  }
}

async function change(world, topic, publisher) {
  const { activity, newest } = world
  const operation = {}
  const from = world.note({ event: 'publishes', topic })
  activity.set(operation, 'publishing')
  const began = performance.now()
  const version = await publisher.change(topic)
  const tookMs = performance.now() - began
  activity.set(operation, version === undefined ? undefined : 'answered')
  setTimeout(() => activity.set(operation), 2 * limits.hubWindowMs)
  if (version === undefined) return world.ledger.count('listen: changes that were not answered')
  // An answer waits for so long until its changes are stored.
  const isStored = publisher.waits === true || tookMs < limits.publishWaitMs
  world.note({ event: 'published', topic, version, from, isStored })
  if (isStored) newest.set(topic, Math.max(version, newest.get(topic) ?? 0))
}
