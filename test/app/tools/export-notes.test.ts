import { describe, expect, it } from 'vitest'
import { describeEras, modern, worker } from '../../support/client.ts'
import { startWith, store } from '../support.ts'

const texts = { eggs: 'A dozen.', milk: 'Two litres <fresh> & cold.' }

describeEras('export_notes', (client) => {
  startWith(texts)

  it('reports every page it rendered, then returns the document', async () => {
    const { notifications, result } = await client.call('export_notes', {}, { progressToken: 'export' })
    expect(notifications.map(({ method, params }) => ({ method, ...params }))).toMatchObject([
      { method: 'notifications/progress', progressToken: 'export', progress: 1, total: 2 },
      { method: 'notifications/progress', progressToken: 'export', progress: 2, total: 2 },
    ])
    expect(result.content[0]!.text).toBe('## eggs\n\nA dozen.\n## milk\n\nTwo litres <fresh> & cold.\n')
  })
})

describe('export_notes', () => {
  const client = modern(worker)
  startWith(texts)

  it('answers plain JSON to who did not ask for progress', async () => {
    const { contentType, notifications } = await client.call('export_notes')
    expect(contentType).toBe('application/json')
    expect(notifications).toEqual([])
  })

  it('escapes notes in HTML', async () => {
    const { result } = await client.call('export_notes', { format: 'html' })
    expect(result.content[0]!.text).toContain(
      '<section id="milk"><h2>milk</h2><pre>Two litres &lt;fresh&gt; &amp; cold.</pre></section>',
    )
  })

  it('says so when there is nothing to export', async () => {
    for (const id of await store().ids()) await store().delete(id)
    const { result } = await client.call('export_notes')
    expect(result.content[0]!.text).toBe('There are no notes to export.')
  })
})
