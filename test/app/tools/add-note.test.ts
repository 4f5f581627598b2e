import { describe, expect, it } from 'vitest'
import { describeEras, modern, worker } from '../../support/client.ts'
import { startWith, store } from '../support.ts'

describeEras('add_note', (client, revision) => {
  startWith()

  it('saves the note and returns its URI, as structure and as text', async () => {
    const { result } = await client.call('add_note', { id: 'milk', text: ' Two litres.\n' })
    expect(JSON.parse(result.content[0]!.text!)).toEqual({ uri: 'note://milk', replaced: false })
    expect(result.structuredContent).toEqual(
      revision === '2025-03-26' ? undefined : { uri: 'note://milk', replaced: false },
    )
    expect(await store().get('milk')).toMatchObject({ id: 'milk', text: 'Two litres.' })
  })
})

describe('add_note', () => {
  const client = modern(worker)
  startWith({ milk: 'Two litres.' })

  it('refuses an id that is taken and says how to go on', async () => {
    const { result } = await client.call('add_note', { id: 'milk', text: 'Three litres.' })
    expect(result.isError).toBe(true)
    expect(result.content[0]!.text).toContain('"replace": true')
    expect(await store().get('milk')).toMatchObject({ text: 'Two litres.' })
  })

  it('overwrites a note when told to', async () => {
    const { result } = await client.call('add_note', { id: 'milk', text: 'Three litres.', replace: true })
    expect(result.structuredContent).toEqual({ uri: 'note://milk', replaced: true })
    expect(await store().get('milk')).toMatchObject({ text: 'Three litres.' })
  })

  it.each([
    ['id', { id: 'Milk & eggs', text: 'Two litres.' }],
    ['id', { id: 'a'.repeat(65), text: 'Two litres.' }],
    ['text', { id: 'eggs', text: '' }],
    ['text', { id: 'eggs', text: 'x'.repeat(2_001) }],
    ['text', { id: 'eggs' }],
  ])('names the bad field %s of %o', async (field, args) => {
    const { result } = await client.call('add_note', args, { unchecked: true })
    expect(result.isError).toBe(true)
    expect(result.content[0]!.text).toContain(`- ${field}: `)
    expect(await store().ids()).toEqual(['milk'])
  })
})

describe('add_note, when there are 100 notes', () => {
  const client = modern(worker)
  startWith(Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`note-${i}`, 'x'])))

  it('adds no more and says what to do', async () => {
    const { result } = await client.call('add_note', { id: 'one-more', text: 'x' })
    expect(result).toMatchObject({ isError: true })
    expect(result.content[0]!.text).toContain('delete_note')
    expect(await store().ids()).toHaveLength(100)
  })

  it('still replaces one', async () => {
    const { result } = await client.call('add_note', { id: 'note-7', text: 'y', replace: true })
    expect(result.structuredContent).toEqual({ uri: 'note://note-7', replaced: true })
  })
})
