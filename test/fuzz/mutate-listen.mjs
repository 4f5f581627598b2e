// Mutations of `subscriptions/listen`: filters of every wrong shape, lists up to and over what is allowed, URIs and ids
// that are none, cursors in both places, and what is declared. And what they could be told of.
import { hostileValue, INHERITED, KEYS, list, STRINGS, VALUES } from './hostile.mjs'
import { Members, pathsOf, withAt, withMember } from './json.mjs'
import { listenCall, SERVED } from './listens.mjs'
import { flipped } from './mutate-states.mjs'
import { authorization, CURSOR, headerText, messageOf, MODERN, post, RESUMABLE, TASKS } from './requests.mjs'
import { META } from '../../src/protocol/meta.ts'
import { limits } from '../../src/limits.ts'

const FLAGS = list('toolsListChanged | promptsListChanged | resourcesListChanged')
const MEMBERS = [...FLAGS, 'resourceSubscriptions', 'taskIds']
const NEAR = list(`toolsListchanged | tools | resources | resourceSubscription | taskIDs | tasks | notifications
  | subscriptionId`)

/** Nearly what is served, and what could be taken for something else on its way. */
const ODD_URIS = [
  ...list(`fuzz://item/.. | fuzz://item/%2e%2e | fuzz://item/a/b | fuzz://item/%2F | fuzz://item/ | fuzz://item
    | FUZZ://fixed | fuzz://fixed#x | fuzz://fixed?x | fuzz:fixed | fuzz:///fixed | //fixed | fuzz://tree/me/../x
    | fuzz://tree/me/a%00b | fuzz://fixed/ | resource fuzz://fixed | tools | task x | resources | data:,x | http://a b`),
  'fuzz://fixed ',
  ' fuzz://fixed',
  'fuzz://item/a\nb',
  'fuzz://item/a\0b',
  'fuzz://item/é',
  `fuzz://item/${'x'.repeat(limits.uriChars)}`,
  `fuzz://item/${'%41'.repeat(300)}`,
]

const CAPABILITIES = ['params', '_meta', META.clientCapabilities]

function send(group, random, message, principal, more) {
  const request = post(group, message, MODERN, more)
  request.headers.push(...authorization(principal))
  return request
}

const anybody = (random) => random.pick(['anonymous', 'anonymous', 'ann', 'bob'])
const some = (random, count, value) => Array.from({ length: random.int(count + 1) }, value)

/** A filter that nothing is wrong with, whatever it names. */
function filter(random, known) {
  const members = [
    ...FLAGS.flatMap((flag) => (random.chance(0.5) ? [[flag, random.pick([true, true, true, false, null])]] : [])),
    ...(random.chance(0.7) ? [['resourceSubscriptions', some(random, 6, () => uri(random))]] : []),
    ...(random.chance(0.4) ? [['taskIds', some(random, 4, () => taskId(random, known))]] : []),
  ]
  return Object.fromEntries(members)
}

function uri(random) {
  return random.weighted([
    [4, () => random.pick(SERVED)],
    [1, () => `fuzz://item/${random.int(100)}`],
    [3, () => random.pick(ODD_URIS)],
    [1, () => String(random.pick(STRINGS.filter((text) => typeof text === 'string')))],
    [0.5, () => random.pick(INHERITED)],
  ])()
}

function taskId(random, { tasks, strays }) {
  return random.weighted([
    [5, () => random.pick(tasks).id],
    [2, () => random.pick(Object.values(strays).flat())],
    [1, () => random.pick(tasks).id.toUpperCase()],
    [1, () => random.pick(tasks).id.slice(0, random.int(64))],
    [1, () => random.bytes(32).toString('hex')],
    [1, () => String(random.pick(INHERITED))],
  ])()
}

/** Filters, mostly with one thing wrong. */
export function listenFilters(random, known) {
  const right = filter(random, known)
  const notifications = random.weighted([
    [4, () => right],
    [
      3,
      () =>
        withAt(
          right,
          pathsOf(right).length > 0 ? random.pick(pathsOf(right)) : [random.pick(MEMBERS)],
          hostileValue(random),
        ),
    ],
    [2, () => withMember(right, [], random.pick(MEMBERS), hostileValue(random))],
    [2, () => withMember(right, [], random.pick([...KEYS, ...NEAR]), hostileValue(random))],
    [1, () => new Members(MEMBERS.map((member) => [member, hostileValue(random)]))],
    [1, () => hostileValue(random)],
    [0.5, () => undefined],
  ])()
  const id = random.chance(0.8) ? random.int(10_000) : random.pick([...VALUES, 'i'.repeat(20_000), '\u2028\n'])
  return send('listen', random, messageOf(listenCall(notifications), MODERN, id), anybody(random))
}

/** Lists of about as many as are allowed, or of far more. */
export function listenLists(random, { tasks }) {
  const [member, cap, value] = random.pick([
    ['resourceSubscriptions', limits.listenResources, (i) => `fuzz://item/${i}`],
    ['resourceSubscriptions', limits.listenResources, () => 'fuzz://fixed'],
    ['resourceSubscriptions', limits.listenResources, (i) => `${'x'.repeat(i % 50)}:${i}`],
    ['taskIds', limits.listenTasks, (i) => tasks[i % tasks.length].id],
    ['taskIds', limits.listenTasks, (i) => i.toString(16).padStart(64, '0')],
  ])
  const length = random.pick([cap - 1, cap, cap + 1, cap * 2, 20 * cap])
  const values = Array.from({ length }, (_, i) => value(i))
  if (random.chance(0.3)) values[random.int(length)] = hostileValue(random)
  const message = messageOf(listenCall({ [member]: values }), MODERN, random.int(10_000))
  return send('listen list', random, message, anybody(random))
}

/** Clients that do not say, or do not quite say, that they take tasks, or ids. */
export function listenDeclarations(random, known) {
  const { principal, id } = random.pick(known.places)
  const notifications = { ...filter(random, known), ...(random.chance(0.5) && { taskIds: [taskId(random, known)] }) }
  const call = listenCall(notifications)
  const message = messageOf(call, MODERN, random.int(10_000))
  const said = () => random.pick([undefined, null, true, [], 'yes', 0, {}, { any: hostileValue(random) }])
  const declared = random.weighted([
    [2, () => [[...CAPABILITIES, 'extensions'], undefined]],
    [2, () => [[...CAPABILITIES, 'extensions', TASKS], said()]],
    [3, () => [[...CAPABILITIES, 'extensions', RESUMABLE], said()]],
    [1, () => [[...CAPABILITIES, 'extensions'], hostileValue(random)]],
    [1, () => [CAPABILITIES, { experimental: { [RESUMABLE]: {}, [TASKS]: {} }, [RESUMABLE]: {}, [TASKS]: {} }]],
  ])()
  const request = send('listen', random, withAt(message, ...declared), principal)
  // Whoever declares nothing may send any cursor: nobody looks at it.
  if (random.chance(0.6)) request.headers.push(['Last-Event-ID', random.pick([id, 'x', '7', flipped(id, random)])])
  return request
}

/** Cursors: of this caller, of others, of other things that were sealed, or none. In the header, the body, or both. */
export function listenCursors(random, known) {
  const own = random.pick(known.places)
  const cursor = () => anyCursor(random, own, known)
  const call = listenCall(random.chance(0.7) ? { resourceSubscriptions: ['fuzz://fixed'] } : filter(random, known))
  const [inBody, inHeader] = random.weighted([
    [3, () => [cursor(), undefined]],
    [3, () => [undefined, cursor()]],
    [2, () => [cursor(), cursor()]],
    [1, () => [own.id, cursor()]],
    [1, () => [random.pick([null, '', undefined]), own.id]],
  ])()
  const valid = messageOf(call, MODERN, random.int(10_000))
  const message = inBody === undefined ? valid : withAt(valid, ['params', '_meta', CURSOR], inBody)
  const request = send('listen cursor', random, message, own.principal)
  const text = typeof inHeader === 'string' ? inHeader : headerText(inHeader)
  // What no header can hold would be refused by the runtime.
  if (text !== undefined && /^[\t\x20-\x7e\x80-\xff]*$/.test(text)) {
    request.headers.push([random.pick(['Last-Event-ID', 'last-event-id']), text])
  }
  return request
}

function anyCursor(random, { principal, id }, { places, rounds, sessions, cursors }) {
  const [turn, ...rest] = id.split('.')
  const token = rest.join('.')
  const others = places.filter((place) => place.principal !== principal)
  const turns = list('0 | 1 | -1 | 1e3 | 01 | 9999999999999999 | 99999999999999999 | 1.5 | NaN | null | x')
  return random.weighted([
    [4, () => id],
    [3, () => `${1 + random.int(2 ** 47)}.${token}`],
    [2, () => `${random.pick(['', ...turns])}.${token}`],
    [3, () => random.pick(others).id],
    [2, () => flipped(id, random)],
    [1, () => id.slice(0, random.int(id.length))],
    [1, () => `${id}${random.pick(['.', 'A', '=', ' ', ', ', `, ${id}`])}`],
    [1, () => `${turn}.${random.pick(rounds).state}`],
    [1, () => `${turn}.${random.pick(sessions).id}`],
    [1, () => random.pick([turn, token, '.', `${turn}.`, `.${token}`, `${token}.${turn}`])],
    [1, () => random.pick(cursors['tools/list'])],
    [1, () => `1.${'A'.repeat(random.int(20_000))}`],
    [1, () => random.pick(STRINGS)],
    [1, () => random.pick(VALUES)],
  ])()
}

/** Changes of things that exist, and of what does not, while others listen. */
export function touches(random) {
  const uris = some(random, 8, () => uri(random))
  const call = { method: 'tools/call', params: { name: 'touch', arguments: { uris, lists: random.chance(0.5) } } }
  const message = messageOf(call, MODERN, random.int(10_000))
  const wrong = () =>
    withAt(message, ['params', 'arguments', ...random.pick([['uris'], ['lists']])], hostileValue(random))
  return send('touch', random, random.chance(0.8) ? message : wrong(), anybody(random))
}
