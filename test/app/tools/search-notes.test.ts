import { describe, expect, it } from 'vitest'
import { describeEras, modern, worker } from '../../support/client.ts'
import { startWith } from '../support.ts'

const texts = {
  'call-zoe': 'Zoë knows the café.\nAsk her.',
  milk: 'Buy MILK and eggs.',
  tea: `Green tea, no milk. ${'Very long. '.repeat(20)}`,
}

describeEras('search_notes', (client) => {
  startWith(texts)

  it('finds the notes with every word, in any case', async () => {
    const { result } = await client.call('search_notes', { query: 'EGGS  milk' })
    expect(JSON.parse(result.content[0]!.text!)).toEqual({
      notes: [{ id: 'milk', uri: 'note://milk', firstLine: 'Buy MILK and eggs.' }],
      total: 1,
    })
  })
})

describe('search_notes', () => {
  const client = modern(worker)
  startWith(texts)

  const search = async (args?: { query?: string; limit?: number }) => {
    const { result } = await client.call('search_notes', args)
    return result.structuredContent as { notes: { id: string; firstLine: string }[]; total: number }
  }

  it('looks at ids and at text beyond ASCII', async () => {
    expect((await search({ query: 'call CAFÉ' })).notes).toMatchObject([{ id: 'call-zoe' }])
  })

  it('finds everything without a query, in the order of ids', async () => {
    expect((await search()).notes.map(({ id }) => id)).toEqual(['call-zoe', 'milk', 'tea'])
  })

  it('returns at most what was asked for and says how many there are', async () => {
    expect(await search({ query: 'milk', limit: 1 })).toMatchObject({ notes: [{ id: 'milk' }], total: 2 })
  })

  it('shortens first lines', async () => {
    const { notes } = await search({ query: 'e' })
    expect(notes.map(({ firstLine }) => firstLine)).toEqual([
      'Zoë knows the café.',
      'Buy MILK and eggs.',
      `${texts.tea.slice(0, 79)}…`,
    ])
  })

  it('answers an empty list when nothing matches', async () => {
    expect(await search({ query: 'milk zebra' })).toEqual({ notes: [], total: 0 })
  })
})
