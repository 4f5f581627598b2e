// What every client does with the example server, and what must come back. A client is an adapter with the methods
// used here, which take and return what the protocol says; `cannot` names what it has no way to do, and why.
import assert from 'node:assert/strict'
import { messageOf } from './rows.mjs'
import { callsOf } from './wire.mjs'

const tools = ['add_note', 'search_notes', 'delete_note', 'export_notes']
export const text = 'Café ☕ for two'

/**
 * Plays all rows. Expects the handshake (`server/discover` or `initialize`) and `revision`, and, by `asks`, that the
 * user's answer decides, or that a tool which asks fails in a way the model can read.
 * `slug` begins the ids of its notes: not a part of any other client's, since all of them share the server.
 */
export async function playNotes(table, client, wire, { slug, handshake, revision, asks }) {
  const ids = [`${slug}-one`, `${slug}-two`]
  const row = (name, work) => table.play(client, name, work, wire)

  await row('connect', () => checkConnected(client, wire, handshake, revision))
  await row('list', () => checkLists(client))
  await row('call', () => checkCall(client, ids))
  await row('read', () => checkRead(client, ids[0]))
  await row('prompt', () => checkPrompt(client, ids[0]))
  await row('complete', () => checkCompletion(client, ids))
  await row('progress', () => checkProgress(client, wire))
  if (asks) {
    await row('elicit: accept', () => checkAccepted(client, ids[0]))
    await row('elicit: decline', () => checkDeclined(client, ids[1]))
  } else {
    await row('ask refused', () => checkRefusedAsk(client, ids[0]))
  }
  await row('unknown tool', () => checkUnknownTool(client, wire))
  await row('bad arguments', () => checkBadArguments(client))
  await row('unknown resource', () => checkUnknownResource(client, wire, { slug, revision }))
  await row('revision kept', () => checkRevision(wire, revision))
  const isModern = handshake === 'server/discover'
  await row(isModern ? 'no session id' : 'session id', () => (isModern ? checkNoSession : checkSession)(wire))
}

async function checkConnected(client, wire, handshake, revision) {
  const { serverInfo, negotiated } = await client.about()
  // Some clients do not say; the header they send does, in the row about the revision.
  if (negotiated !== undefined) assert.equal(negotiated, revision)
  if (serverInfo !== undefined) assert.partialDeepStrictEqual(serverInfo, { name: 'notes', version: '1.0.0' })
  const methods = wire.exchanges.flatMap(({ messages }) => messages.map(({ method }) => method))
  const first = methods.find((method) => method === 'server/discover' || method === 'initialize')
  assert.equal(first, handshake)
  const called = serverInfo === undefined ? '' : ` with "${serverInfo.title ?? serverInfo.name}"`
  return `${handshake}, agreed on ${negotiated ?? revision}${called}`
}

async function checkLists(client) {
  const lists = [client.listTools(), client.listTemplates(), client.listPrompts()]
  const [listed, templates, prompts] = await Promise.all(lists)
  assert.deepEqual(listed.map(({ name }) => name).toSorted(), tools.toSorted())
  const add = listed.find(({ name }) => name === 'add_note')
  assert.deepEqual(add.inputSchema.required.toSorted(), ['id', 'text'])
  assert.equal(add.inputSchema.properties.text.type, 'string')
  assert.deepEqual(
    templates.map(({ uriTemplate }) => uriTemplate),
    ['note://{id}'],
  )
  assert.deepEqual(
    prompts.map(({ name }) => name),
    ['review_note'],
  )
  assert.deepEqual(
    prompts[0].arguments.map(({ name, required }) => [name, required ?? false]),
    [
      ['id', true],
      ['tone', false],
    ],
  )
  return `${listed.length} tools, ${templates.length} template, ${prompts.length} prompt`
}

async function checkCall(client, ids) {
  for (const id of ids) {
    const { structuredContent, content, isError } = await client.callTool('add_note', { id, text })
    assert.notEqual(isError, true)
    assert.equal(structuredContent.uri, `note://${id}`)
    assert.deepEqual(JSON.parse(content[0].text), structuredContent)
  }
  const found = await client.callTool('search_notes', { query: ids[0] })
  assert.deepEqual(found.structuredContent.notes, [{ id: ids[0], uri: `note://${ids[0]}`, firstLine: text }])
  const resources = await client.listResources()
  for (const id of ids) assert.ok(resources.some(({ uri, name }) => uri === `note://${id}` && name === id))
  return `two notes added (structured content and its text copy), found, listed among ${resources.length} resources`
}

async function checkRead(client, id) {
  const [note, ...others] = await client.read(`note://${id}`)
  assert.deepEqual(others, [])
  assert.deepEqual(note, { uri: `note://${id}`, mimeType: 'text/markdown', text })
  return `note://${id}: "${note.text}"`
}

async function checkPrompt(client, id) {
  const messages = await client.getPrompt('review_note', { id, tone: 'blunt' })
  assert.ok(messages.length > 0 && messages.every(({ role }) => role === 'user'))
  assert.match(messages[0].content.text, /\bblunt\b/)
  const embedded = messages.find(({ content }) => content.type === 'resource')
  assert.equal(embedded.content.resource.text, text)
  return `review_note: ${messages.length} messages, the note embedded`
}

async function checkCompletion(client, ids) {
  const tones = await client.complete({ type: 'ref/prompt', name: 'review_note' }, { name: 'tone', value: 'b' })
  assert.deepEqual(tones.values, ['blunt'])
  const prefix = ids[0].slice(0, -3)
  const found = await client.complete({ type: 'ref/resource', uri: 'note://{id}' }, { name: 'id', value: prefix })
  assert.deepEqual(found.values.toSorted(), ids.toSorted())
  return `tone "b": ${tones.values}; id "${prefix}": ${found.values.length} notes`
}

async function checkProgress(client, wire) {
  const seen = []
  const { content } = await client.callTool(
    'export_notes',
    { format: 'html' },
    { onProgress: (step) => seen.push(step) },
  )
  assert.ok(content[0].text.includes(text))
  // Command-line clients that ask for progress and do not show it: what counts is what reached them.
  const steps = client.showsProgress === false ? progressIn(wire.calls('tools/call').at(-1).answer) : seen
  // How many notes there are depends on the other clients.
  const { length: total } = content[0].text.match(/<section /g)
  assert.deepEqual(
    steps.map((step) => [step.progress, step.total]),
    Array.from({ length: total }, (_, i) => [i + 1, total]),
  )
  assert.match(steps.at(-1).message, /^Rendered /)
  return `${steps.length} of ${total} received${client.showsProgress === false ? ', on the wire' : ''}`
}

function progressIn(stream) {
  const messages = [...stream.matchAll(/^data: (.+)$/gm)].map(([, json]) => JSON.parse(json))
  return messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params)
}

async function checkAccepted(client, id) {
  const asked = answerWith(client, { action: 'accept', content: { confirm: true } })
  const { content, isError } = await client.callTool('delete_note', { id })
  assert.notEqual(isError, true)
  checkQuestion(asked, id)
  assert.ok(!(await listedIds(client)).includes(id))
  return `asked "${asked[0].message}", then "${content[0].text}"`
}

async function checkDeclined(client, id) {
  const asked = answerWith(client, { action: 'decline' })
  const { content, isError } = await client.callTool('delete_note', { id })
  assert.notEqual(isError, true)
  checkQuestion(asked, id)
  assert.ok((await listedIds(client)).includes(id))
  return `"${content[0].text}"`
}

function answerWith(client, answer) {
  const asked = []
  client.answer = (params) => {
    asked.push(params)
    return answer
  }
  return asked
}

function checkQuestion(asked, id) {
  assert.equal(asked.length, 1)
  assert.ok(asked[0].message.includes(id))
  assert.equal(asked[0].requestedSchema.properties.confirm.type, 'boolean')
  assert.deepEqual(asked[0].requestedSchema.required, ['confirm'])
}

async function listedIds(client) {
  return (await client.listResources()).map(({ name }) => name)
}

async function checkRefusedAsk(client, id) {
  const said = await textOfFailure(client.callTool('delete_note', { id }))
  assert.match(said, /elicitation/)
  assert.ok((await listedIds(client)).includes(id))
  return `"${said}"`
}

/** A failure is a tool error, or what the client made of an error answer. */
export async function textOfFailure(calling) {
  try {
    const { isError, content } = await calling
    assert.equal(isError, true)
    return content[0].text
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    return messageOf(error)
  }
}

async function checkUnknownTool(client, wire) {
  const said = await failureOf(client.callTool('no_such_tool', {}))
  assert.match(said, /no_such_tool/)
  const call = callsOf(wire, 'no_such_tool').at(-1)
  if (!call) return `not even sent: "${said}"`
  return `${checkCode(call, -32602)}: "${said}"`
}

/** The code that the older revisions give to a missing resource is not used any more. */
async function checkUnknownResource(client, wire, { slug, revision }) {
  const said = await failureOf(client.read(`note://${slug}-none`))
  assert.match(said, /not found/i)
  const code = revision === '2026-07-28' ? -32602 : -32002
  return `${checkCode(wire.calls('resources/read').at(-1), code)}: "${said}"`
}

function checkCode({ answer }, code) {
  const { error } = JSON.parse(answer)
  assert.equal(error.code, code)
  return code
}

async function failureOf(calling) {
  const answer = await calling.then(
    (result) => ({ result }),
    (error) => ({ error }),
  )
  assert.ok(answer.error, `no error but ${JSON.stringify(answer.result)}`)
  return messageOf(answer.error)
}

async function checkBadArguments(client) {
  const { isError, content } = await client.callTool('add_note', { id: 'fine', text: 5 })
  assert.equal(isError, true)
  assert.match(content[0].text, /\btext\b/)
  return `isError: "${content[0].text.replaceAll('\n', ' ')}"`
}

function checkRevision(wire, revision) {
  const requests = wire.exchanges.filter(({ messages }) => messages.some(({ method }) => method !== 'initialize'))
  const others = requests.filter((exchange) => exchange.revision !== revision)
  assert.deepEqual(
    others.map(({ messages }) => messages),
    [],
  )
  const failed = requests.filter(({ status }) => status >= 500)
  assert.deepEqual(
    failed.map(({ messages }) => messages),
    [],
  )
  return `${requests.length} requests, all under ${revision}`
}

function checkNoSession({ exchanges }) {
  const named = exchanges.filter(({ sessionId, answerHeaders }) => sessionId ?? answerHeaders['mcp-session-id'])
  assert.deepEqual(
    named.map(({ messages }) => messages),
    [],
  )
  return `none given or sent in ${exchanges.length} requests`
}

/** What `initialize` minted names the session in everything that follows. Some shake hands more than once. */
function checkSession(wire) {
  const ids = wire.calls('initialize').map(({ answerHeaders }) => answerHeaders['mcp-session-id'])
  for (const id of ids) assert.match(id, /^[!-~]{1,512}$/)
  assert.equal(new Set(ids).size, ids.length)
  const posts = wire.exchanges.filter(({ method }) => method === 'POST')
  const others = posts.filter(({ messages }) => messages.every(({ method }) => method !== 'initialize'))
  assert.deepEqual([...new Set(others.map(({ sessionId }) => sessionId))].toSorted(), ids.toSorted())
  return `${ids.length} of ${ids[0].length} characters, sent with ${others.length} requests`
}

/**
 * Clients open a stream of their own, and some try before the handshake: 405 tells those that there is none yet.
 * With a session it stays open; one that is opened twice replaces the first.
 */
export function checkStream(wire) {
  const early = wire.gets().filter(({ sessionId }) => sessionId === undefined)
  assert.ok(early.length <= 4 && early.every(({ status }) => status === 405))
  const streams = wire.gets().filter(({ sessionId }) => sessionId !== undefined)
  const open = streams.filter(({ isOpen }) => isOpen)
  const sessions = wire.calls('initialize').map(({ answerHeaders }) => answerHeaders['mcp-session-id'])
  assert.deepEqual(open.map(({ sessionId }) => sessionId).toSorted(), sessions.toSorted())
  assert.ok(streams.length <= 2)
  const news = streams.flatMap(({ streamed }) => streamed.map(({ method }) => method))
  // All clients share the server, so each hears of the notes of the others.
  assert.deepEqual([...new Set(news)], ['notifications/resources/list_changed'])
  const before = early.length === 0 ? '' : `${early.length} without a session answered 405; `
  const replaced = streams.length === open.length ? '' : ' after one it replaces'
  return `${before}${open.length} for ${sessions.length} session${replaced}, open since the handshake; ${news.length} news of lists`
}

/** Some end their session when they close. */
export async function checkDelete(wire) {
  const deletes = wire.exchanges.filter(({ method }) => method === 'DELETE')
  assert.deepEqual(
    deletes.map(({ status }) => status),
    [204],
  )
  assert.equal(deletes[0].sessionId, wire.sessionId())
  return 'closing ended the session: 204'
}
