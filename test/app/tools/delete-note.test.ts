import { describe, expect, it } from 'vitest'
import { describeEras, modern, worker } from '../../support/client.ts'
import { startWith, store } from '../support.ts'

const accept = (confirm: boolean) => ({ action: 'accept', content: { confirm } })

describe('delete_note', () => {
  const client = modern(worker, { capabilities: { elicitation: { form: {} } } })
  startWith({ milk: 'Two litres.', tea: 'Green.' })

  const remove = async (answer: object, id = 'milk') => {
    const { rounds, result } = await client.answer('delete_note', { id }, { answers: { confirm: { ...answer } } })
    return { rounds, text: result.content[0]!.text, left: await store().ids() }
  }

  it('asks which note is meant and deletes it once the user confirmed', async () => {
    const { rounds, text, left } = await remove(accept(true))
    expect(rounds).toHaveLength(1)
    expect(rounds[0]!.inputRequests['confirm']!.params).toEqual({
      mode: 'form',
      message: 'Delete note "milk" (Two litres.)? This cannot be undone.',
      requestedSchema: {
        type: 'object',
        properties: { confirm: { type: 'boolean', title: 'Yes, delete it' } },
        required: ['confirm'],
      },
    })
    expect(text).toBe('Deleted milk.')
    expect(left).toEqual(['tea'])
  })

  it.each([
    ['accepts without a tick', accept(false)],
    ['declines', { action: 'decline' }],
    ['cancels', { action: 'cancel' }],
  ])('keeps the note when the user %s', async (_how, answer) => {
    const { text, left } = await remove(answer)
    expect(text).toBe('Kept milk: the user did not confirm.')
    expect(left).toEqual(['milk', 'tea'])
  })

  it('deletes nothing before it was answered', async () => {
    const { result } = await client.request('tools/call', { name: 'delete_note', arguments: { id: 'milk' } })
    expect(result).toMatchObject({ resultType: 'input_required' })
    expect(await store().ids()).toEqual(['milk', 'tea'])
  })

  it('refuses to use the confirmation of one note for another', async () => {
    const asked = await client.result('tools/call', { name: 'delete_note', arguments: { id: 'milk' } })
    const { code } = await client.error('tools/call', {
      name: 'delete_note',
      arguments: { id: 'tea' },
      inputResponses: { confirm: accept(true) },
      requestState: asked.requestState,
    })
    expect(code).toBe(-32602)
    expect(await store().ids()).toEqual(['milk', 'tea'])
  })

  it('says what to do about a note that is not there, without asking', async () => {
    const { result } = await client.call('delete_note', { id: 'coffee' })
    expect(result).toMatchObject({ isError: true })
    expect(result.content[0]!.text).toContain('search_notes')
  })

  it('needs a client that can ask', async () => {
    const mute = modern(worker)
    const error = await mute.error('tools/call', { name: 'delete_note', arguments: { id: 'milk' } })
    expect(error).toMatchObject({
      status: 400,
      code: -32021,
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    })
  })
})

describeEras(
  'delete_note without a session',
  (client) => {
    startWith({ milk: 'Two litres.' })

    it('tells the model that the client cannot be asked, and deletes nothing', async () => {
      const { result } = await client.call('delete_note', { id: 'milk' })
      expect(result).toMatchObject({ isError: true })
      expect(result.content[0]!.text).toContain('elicitation')
      expect(await store().ids()).toEqual(['milk'])
    })
  },
  { until: '2025-11-25' },
)
