// What the fixture asks is word for word what the suite documents, and the answers arrive in its results.

import { describe, expect, test } from 'vitest'
import { modern, worker } from '../support/client.ts'
import type { Answer, JsonObject } from '../support/client.ts'

const client = modern(worker, { capabilities: { elicitation: {}, sampling: {}, roots: {} } })

const accept = (content: JsonObject): JsonObject => ({ action: 'accept', content })
const sampled = (text: string): JsonObject => ({ role: 'assistant', model: 'm', content: { type: 'text', text } })

/** The requests of every round, and the text of the result. */
async function converse(tool: string, answers: Record<string, Answer>, args: JsonObject = {}, by = client) {
  const { rounds, result } = await by.answer(tool, args, { answers })
  return {
    rounds: rounds.map(({ inputRequests }) => inputRequests),
    text: result.content.map(({ text }) => text).join(),
  }
}

function form(message: string, properties: JsonObject, required?: string[]): JsonObject {
  const requestedSchema = { type: 'object', properties, ...(required && { required }) }
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }
}

function sample(text: string, maxTokens: number): JsonObject {
  const messages = [{ role: 'user', content: { type: 'text', text } }]
  return { method: 'sampling/createMessage', params: { messages, maxTokens } }
}

const rootsList = { method: 'roots/list' }
const askName = (message: string): JsonObject => form(message, { name: { type: 'string' } }, ['name'])

describe('the fixture asks on 2026-07-28', () => {
  test('for a name, and greets', async () => {
    const answers = { user_name: accept({ name: 'Alice' }) }
    expect(await converse('test_input_required_result_elicitation', answers)).toEqual({
      rounds: [{ user_name: askName('What is your name?') }],
      text: 'Hello, Alice!',
    })
  })

  test('for three things in one round', async () => {
    const answers = {
      user_name: accept({ name: 'Alice' }),
      greeting: sampled('Hello'),
      client_roots: { roots: [{ uri: 'file:///a' }, { uri: 'file:///b' }] },
    }
    expect(await converse('test_input_required_result_multiple_inputs', answers)).toEqual({
      rounds: [
        {
          user_name: askName('What is your name?'),
          greeting: sample('Generate a greeting', 50),
          client_roots: rootsList,
        },
      ],
      text: 'Hello Alice file:///a, file:///b',
    })
  })

  test('for two things in two rounds', async () => {
    const answers = { step1: accept({ name: 'Alice' }), step2: accept({ color: 'blue' }) }
    expect(await converse('test_input_required_result_multi_round', answers)).toEqual({
      rounds: [
        { step1: askName('Step 1: What is your name?') },
        { step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }, ['color']) },
      ],
      text: 'Alice likes blue.',
    })
  })

  test('and still knows what it remembered before', async () => {
    const answers = { confirm: accept({ ok: true }) }
    expect(await converse('test_input_required_result_request_state', answers)).toEqual({
      rounds: [{ confirm: form('Please confirm', { ok: { type: 'boolean' } }, ['ok']) }],
      text: 'state-ok',
    })
  })

  test('and refuses state that was altered', async () => {
    const name = 'test_input_required_result_tampered_state'
    const { requestState } = await client.result('tools/call', { name, arguments: {} })
    const inputResponses = { confirm: accept({ ok: true }) }
    const retry = (state: string) => ({ name, arguments: {}, inputResponses, requestState: state })
    expect((await client.error('tools/call', retry(`${requestState}-TAMPERED`))).code).toBe(-32602)
    expect((await client.result('tools/call', retry(`${requestState}`))).resultType).toBe('complete')
  })

  test('only what the client declared', async () => {
    const tool = 'test_input_required_result_capabilities'
    const sampler = modern(worker, { capabilities: { sampling: {} } })
    expect(await converse(tool, { greeting: sampled('Hi') }, {}, sampler)).toEqual({
      rounds: [{ greeting: sample('Generate a greeting', 50) }],
      text: 'Answers: Hi',
    })
  })

  test('for the context of a prompt', async () => {
    const answers = { user_context: accept({ context: 'a test' }) }
    const { rounds, result } = await client.converse(
      'prompts/get',
      { name: 'test_input_required_result_prompt' },
      { answers },
    )
    const question = form('What context should the prompt use?', { context: { type: 'string' } }, ['context'])
    expect(rounds.map(({ inputRequests }) => inputRequests)).toEqual([{ user_context: question }])
    expect(result.messages[0]?.content.text).toBe('Use this context: a test')
  })

  test('with a default for every kind of field', async () => {
    const content = { name: 'John Doe', age: 30, score: 95.5, status: 'active', verified: true }
    const { rounds, text } = await converse('test_elicitation_sep1034_defaults', { defaults: accept(content) })
    const properties = {
      name: { type: 'string', default: 'John Doe' },
      age: expect.objectContaining({ type: 'integer', default: 30 }),
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }
    expect(rounds).toEqual([{ defaults: form('Please review the values', properties) }])
    expect(text).toBe(`Elicitation completed: action=accept, content=${JSON.stringify(content)}`)
  })

  test('with every kind of enumeration', async () => {
    const content = {
      untitledSingle: 'option1',
      titledSingle: 'value1',
      legacyEnum: 'opt1',
      untitledMulti: ['option1', 'option2'],
      titledMulti: ['value1', 'value2'],
    }
    const { rounds, text } = await converse('test_elicitation_sep1330_enums', { enums: accept(content) })
    const options = { type: 'string', enum: ['option1', 'option2', 'option3'] }
    const titled = (kind: string) =>
      ['First', 'Second', 'Third'].map((nth, i) => ({ const: `value${i + 1}`, title: `${nth} ${kind}` }))
    const enumNames = ['Option One', 'Option Two', 'Option Three']
    const properties = {
      untitledSingle: options,
      titledSingle: { type: 'string', oneOf: titled('Option') },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames },
      untitledMulti: { type: 'array', items: options },
      titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
    }
    expect(rounds).toEqual([{ enums: form('Please choose', properties) }])
    expect(text).toBe(`Elicitation completed: action=accept, content=${JSON.stringify(content)}`)
  })
})
