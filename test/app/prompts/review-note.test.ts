import { describe, expect, it } from 'vitest'
import { describeEras, modern, worker } from '../../support/client.ts'
import { startWith } from '../support.ts'

const ref = { type: 'ref/prompt', name: 'review_note' }

describeEras('review_note', (client) => {
  startWith({ eggs: 'A dozen.', milk: 'Two litres.' })

  it('is listed with one argument that is needed and one that is not', async () => {
    const { prompts } = await client.result('prompts/list')
    expect(prompts[0]).toMatchObject({
      name: 'review_note',
      arguments: [{ name: 'id', required: true }, { name: 'tone' }],
    })
    expect(prompts[0]!.arguments![1]).not.toHaveProperty('required')
  })

  it('brings the note with it', async () => {
    const { messages } = await client.result('prompts/get', {
      name: 'review_note',
      arguments: { id: 'milk', tone: 'blunt' },
    })
    expect(messages[0]!.content.text).toContain('Be blunt.')
    expect(messages[1]!.content.resource).toEqual({
      uri: 'note://milk',
      mimeType: 'text/markdown',
      text: 'Two litres.',
    })
  })

  it('completes ids from the notes and tones from the enum', async () => {
    const values = async (name: string, value: string) =>
      (await client.result('completion/complete', { ref, argument: { name, value } })).completion.values
    expect(await values('id', 'e')).toEqual(['eggs'])
    expect(await values('tone', 'B')).toEqual(['blunt'])
  })
})

describe('review_note', () => {
  const client = modern(worker)
  startWith({ milk: 'Two litres.' })

  it('is kind unless told otherwise', async () => {
    const { messages } = await client.result('prompts/get', { name: 'review_note', arguments: { id: 'milk' } })
    expect(messages[0]!.content.text).toContain('Be kind.')
  })

  it.each([{ id: 'coffee' }, { id: 'milk', tone: 'rude' }, {}])('refuses %o', async (args) => {
    expect((await client.error('prompts/get', { name: 'review_note', arguments: args })).code).toBe(-32602)
  })
})
