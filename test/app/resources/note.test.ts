import { describe, expect, it } from 'vitest'
import { describeEras, modern, worker } from '../../support/client.ts'
import { startWith } from '../support.ts'

const texts = { eggs: 'A dozen.', milk: 'Two litres.\nFresh.' }
const ref = { type: 'ref/resource', uri: 'note://{id}' }

describeEras('note://{id}', (client, revision) => {
  startWith(texts)

  it('lists every note', async () => {
    const { resources } = await client.result('resources/list')
    expect(resources.map(({ uri, name, description }) => ({ uri, name, description })).slice(1)).toEqual([
      { uri: 'note://eggs', name: 'eggs', description: 'A dozen.' },
      { uri: 'note://milk', name: 'milk', description: 'Two litres.' },
    ])
  })

  it('is announced as a template', async () => {
    const { resourceTemplates } = await client.result('resources/templates/list')
    expect(resourceTemplates).toMatchObject([{ uriTemplate: 'note://{id}', name: 'note', mimeType: 'text/markdown' }])
  })

  it('reads a note', async () => {
    const { contents } = await client.result('resources/read', { uri: 'note://milk' })
    expect(contents).toEqual([{ uri: 'note://milk', mimeType: 'text/markdown', text: 'Two litres.\nFresh.' }])
  })

  it('knows no note that was never added', async () => {
    const error = await client.error('resources/read', { uri: 'note://coffee' })
    expect(error.code).toBe(revision === '2026-07-28' ? -32602 : -32002)
    expect(error.data).toEqual({ uri: 'note://coffee' })
  })

  it('completes ids', async () => {
    const { completion } = await client.result('completion/complete', { ref, argument: { name: 'id', value: 'mi' } })
    expect(completion.values).toEqual(['milk'])
  })
})

describe('note://{id}, cached', () => {
  startWith(texts)

  it('is private and stale at once, as a note may change', async () => {
    const client = modern(worker)
    expect(await client.result('resources/list')).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
    const read = await client.result('resources/read', { uri: 'note://milk' })
    expect(read).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
  })
})
