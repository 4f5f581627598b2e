import { expect, it } from 'vitest'
import { describeEras } from '../../support/client.ts'
import { startWith } from '../support.ts'

describeEras('notes://index', (client) => {
  startWith({ eggs: 'A dozen.', milk: 'Two litres.\nFresh.' })

  it('stands first in the list', async () => {
    const { resources } = await client.result('resources/list')
    expect(resources[0]).toMatchObject({ uri: 'notes://index', name: 'index' })
  })

  it('is a table of contents', async () => {
    const { contents } = await client.result('resources/read', { uri: 'notes://index' })
    expect(contents[0]!.text).toBe('- note://eggs: A dozen.\n- note://milk: Two litres.\n')
  })
})
