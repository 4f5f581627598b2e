// What a host answers when the server asks, and calls of tools that ask.
import assert from 'node:assert/strict'
import { callsOf } from './wire.mjs'

const word = { type: 'text', text: 'Grüße' }
const model = 'interop-model'
const roots = [{ uri: 'file:///interop', name: 'interop' }]

/** The answer to a request of the server. What the user says to a form is the business of `adapter.answer`. */
export function answerTo(method, params, adapter) {
  if (method === 'sampling/createMessage') return { role: 'assistant', content: word, model, stopReason: 'endTurn' }
  if (method === 'roots/list') return { roots }
  return adapter.answer(params)
}

/** @param times how often the call is sent: once in a session, again with the answers on the modern revision */
export async function checkTwoAsks(client, wire, times) {
  const asked = []
  client.answer = ({ message }) => {
    asked.push(message)
    return { action: 'accept', content: message.includes('name') ? { name: 'Ada' } : { size: 42 } }
  }
  const { content } = await client.callTool('ask_twice', {})
  assert.deepEqual(JSON.parse(content[0].text), [{ name: 'Ada' }, { size: 42 }])
  assert.deepEqual(asked.toSorted(), ['Which name?', 'Which size?'])
  assert.equal(callsOf(wire, 'ask_twice').length, times)
  return `2 answers, ${times} ${times === 1 ? 'request' : 'requests'}`
}

export async function checkSampling(client) {
  const { content } = await client.callTool('ask_model', {})
  assert.deepEqual(JSON.parse(content[0].text), { content: word, model })
  return `"${word.text}" by ${model}`
}

export async function checkRoots(client) {
  const { content } = await client.callTool('ask_roots', {})
  assert.deepEqual(JSON.parse(content[0].text), roots)
  return roots[0].uri
}
