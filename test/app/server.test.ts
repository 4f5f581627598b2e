import { expect, it } from 'vitest'
import { describeEras } from '../support/client.ts'

describeEras('the example server', (client, revision) => {
  it('offers four tools that say what they are for and what they may do', async () => {
    const listed = (await client.result('tools/list')).tools
    const tools = listed.filter(({ name }) => name.includes('note'))
    expect(tools.map(({ name }) => name)).toEqual(['add_note', 'search_notes', 'delete_note', 'export_notes'])
    for (const tool of tools) {
      expect(tool.description).toBeTruthy()
      expect(tool.annotations).toHaveProperty('openWorldHint', false)
    }
    const readOnly = tools.filter(({ annotations }) => annotations!['readOnlyHint']).map(({ name }) => name)
    expect(readOnly).toEqual(['search_notes', 'export_notes'])
  })

  it('explains itself', async () => {
    const hello = await client.result(revision === '2026-07-28' ? 'server/discover' : 'initialize')
    expect(hello.instructions).toContain('note://{id}')
  })
})
