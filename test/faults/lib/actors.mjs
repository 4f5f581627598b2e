// What a client does in an episode, and what must have become of it. Every actor has a session of its own or shares one.

import { setTimeout as sleep } from 'node:timers/promises'

let keys = 0
/** What changes is heard of in every session that watches it, so each watches things of its own. */
let items = 1_000

/** Counts how often each effect below `prefix` happened. */
export async function effectsOf(client, prefix) {
  const { result } = await client.repeat('tools/call', { name: 'effects', arguments: { prefix } })
  return JSON.parse(result.content[0].text)
}

function suffixFor(random) {
  return random.chance(0.5) ? '' : '_once'
}

/** A stream of numbers: all of them arrive once, or those before the cut and then the interruption. */
export async function count(client) {
  const { random, ledger } = client.world
  const n = random.between(8, 20)
  const args = { n, everyMs: random.between(6, 50), padding: random.chance(0.2) ? random.between(1_000, 20_000) : 0 }
  const call = await client.call(`count${suffixFor(random)}`, () => args, { phase: 'streaming' })
  if (call.outcome === 'unknown') return
  const numbers = call.transcript.events.flatMap(
    ({ message }) => message?.params?.progress ?? message?.params?.data.i ?? [],
  )
  const due = Array.from({ length: n }, (_, i) => [i + 1, i + 1]).flat()
  const detail = () => `${call.outcome}: ${numbers.join(' ')}`
  const isPrefix = numbers.every((number, i) => number === due[i])
  ledger.check('a re-entered handler repeats no emission and drops none', isPrefix, detail)
  if (call.outcome === 'result')
    ledger.check('a call that has its result has all its events', numbers.length === due.length, detail)
}

/** A question with effects around it. */
export async function ask(client) {
  const { random, ledger } = client.world
  const key = `ask-${++keys}-`
  const name = `ask${suffixFor(random)}`
  let atAsk
  const onAsk = async () => (atAsk = await effectsOf(client, key))
  let atAfter
  const onLog = (data) => data === 'after' && (atAfter = effectsOf(client, key))
  const args = (attempt) => ({ key: `${key}${attempt}`, workMs: random.between(0, 300) })
  const call = await client.call(name, args, { phase: 'before an ask', onAsk, onLog })
  checkAnswer(ledger, call, `number ${call.answers['Which number?']}`)
  const moments = [atAsk, await atAfter, await effectsOf(client, key)]
  const of = (step) => moments.map((seen) => seen?.[`${key}${call.attempts}/${step}`] ?? 0)
  checkEffects(ledger, call, { of, name })
}

function checkAnswer(ledger, { outcome, text }, due) {
  if (outcome === 'result') ledger.check('the answer is in the result', text === due, () => `${text}, not ${due}`)
}

function checkEffects(ledger, call, { of, name }) {
  const { outcome, faults, faultsAfterAnswer } = call
  const isOnce = name.endsWith('_once')
  // When the question was seen, when the step after it was known to be done, and in the end.
  const [seen, , before] = of('before')
  const [, done, after] = of('after')
  const bare = of('bare')[2]
  const detail = () =>
    `${name} ${outcome}, ${faults} faults: before ${seen} then ${before}, after ${done} then ${after}, bare ${bare}`
  const wasAsked = seen > 0
  if (wasAsked) ledger.check('a step that completed is never run again', seen === before, detail)
  if (done > 0) ledger.check('a step that completed is never run again', done === after, detail)
  if (wasAsked) ledger.count(`effects before the ask: ${before === 1 ? 'once' : 'more than once'}`)
  if (wasAsked && faults === 0) ledger.check('without a fault each effect happens once', before === 1, detail)
  const all = [before, after, bare]
  if (isOnce)
    ledger.check(
      'what may not be repeated has no effect twice',
      all.every((n) => n <= 1),
      detail,
    )
  if (outcome !== 'result') return
  ledger.check(
    'a call that has its result had all its effects',
    all.every((n) => n >= 1),
    detail,
  )
  ledger.count(`effects after the answer: ${after === 1 && bare === 1 ? 'once' : 'more than once'}`)
  const most = 1 + faultsAfterAnswer
  ledger.check('effects after the answer repeat at most once per fault', after <= most && bare <= most, detail)
}

/** Two questions at once. */
export async function askBoth(client) {
  const { random, ledger } = client.world
  const lookMs = random.between(0, 300)
  const call = await client.call(`ask_both${suffixFor(random)}`, () => ({ lookMs }), { phase: 'before an ask' })
  const [left, right] = ['left', 'right'].map((side) => call.answers[`Which number ${side}?`])
  checkAnswer(ledger, call, `numbers ${left} ${right}`)
}

/** A call that says nothing: short ones are answered in JSON and leave nothing, long ones become streams. */
export async function wait(client) {
  const { random, ledger } = client.world
  const key = `wait-${++keys}-`
  const name = `wait${suffixFor(random)}`
  const ms = random.chance(0.5) ? random.between(0, 100) : random.between(400, 900)
  const call = await client.call(name, (attempt) => ({ key: `${key}${attempt}`, ms }), { phase: 'quiet' })
  const { [`${key}${call.attempts}`]: times = 0 } = await effectsOf(client, key)
  const detail = () => `${name} ${call.outcome} after ${call.faults} faults: ${times} effects`
  if (name.endsWith('_once')) ledger.check('what may not be repeated has no effect twice', times <= 1, detail)
  if (call.outcome === 'result') ledger.check('a call that has its result had all its effects', times >= 1, detail)
  if (call.faults === 0) ledger.check('without a fault each effect happens once', times === 1, detail)
}

/** A call whose client leaves before it hears of its stream, and never comes back. */
export async function abandon(client) {
  const { random } = client.world
  const [name, args] = random.pick([
    ['count', { n: 5, everyMs: 100 }],
    ['count_once', { n: 5, everyMs: 100 }],
    ['ask', { key: `abandoned-${++keys}`, workMs: 10 }],
    ['ask_both_once', { lookMs: 10 }],
  ])
  await sleep(random.between(0, 500))
  const params = { name, arguments: args, _meta: { progressToken: 'p' } }
  const controller = new AbortController()
  const sent = client.post({ method: 'tools/call', params }, { signal: controller.signal })
  setTimeout(() => controller.abort(), random.between(3, 30))
  try {
    ;(await sent)?.destroy()
  } catch (error) {
    if (!controller.signal.aborted) throw error
  }
}

/** An open standalone stream, and changes that must arrive there. */
export async function watch(client) {
  const { random, ledger, faults } = client.world
  const watched = Array.from({ length: random.between(3, 8) }, () => ++items)
  for (const item of watched) await client.repeat('resources/subscribe', { uri: `item://${item}` })
  const listener = client.listen()
  await listener.transcript.placed
  const tries = new Map()
  for (const item of watched) {
    await sleep(random.between(20, 250))
    const call = await client.call('touch', () => ({ item }))
    tries.set(item, call.attempts)
  }
  await eventually(() => watched.every((item) => listener.items.includes(item)))
  await listener.stop()
  for (const [item, attempts] of tries) {
    const times = listener.items.filter((seen) => seen === item).length
    // What a fault cut off is said again: it may have been heard already.
    const most = attempts + client.world.faults - faults
    const isFine = times >= 1 && times <= most
    ledger.check('every change arrives on the standalone stream', isFine, () => `item ${item}: ${times}/${most}`)
  }
  ledger.count('changes', watched.length)
}

/** One change for a standalone stream that is open already, of a thing nobody else changes: every session hears of that. */
export async function poke(client) {
  const before = client.listener.items.length
  await sleep(client.world.random.between(0, 1_000))
  const { attempts } = await client.call('touch', () => ({ item: 50 }))
  client.pokes = (client.pokes ?? 0) + attempts
  const arrived = () => client.listener.items.length - before
  await eventually(() => arrived() > 0)
  const { ledger, faults } = client.world
  const [all, most] = [client.listener.items.length, client.pokes + faults]
  const isFine = arrived() >= 1 && all <= most
  ledger.check('every change arrives on the standalone stream', isFine, () => `${arrived()}, ${all}/${most}`)
}

async function eventually(isMet, ms = 5_000) {
  for (const end = Date.now() + ms; !isMet() && Date.now() < end;) await sleep(20)
}
