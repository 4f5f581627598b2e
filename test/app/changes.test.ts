import { describe, expect, it } from 'vitest'
import { modern, worker, type OpenStream } from '../support/client.ts'
import { startWith } from './support.ts'

const client = modern(worker, { capabilities: { elicitation: {} } })

const RESOURCES = ['note://milk', 'notes://index', 'file:///etc/passwd']

async function listening(): Promise<OpenStream> {
  const stream = await client.open('subscriptions/listen', {
    notifications: { resourcesListChanged: true, resourceSubscriptions: RESOURCES, promptsListChanged: true },
  })
  const { value } = await stream.messages.next()
  expect(value).toMatchObject({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { resourcesListChanged: true, resourceSubscriptions: RESOURCES.slice(0, 2) } },
  })
  return stream
}

/** The next `count` notifications, as method and URI. */
async function read({ messages }: OpenStream, count: number): Promise<string[]> {
  const read: string[] = []
  while (read.length < count) {
    const { value } = await messages.next()
    const { method, params } = value as { method: string; params: { uri?: string } }
    read.push([method.replace('notifications/resources/', ''), params.uri].filter(Boolean).join(' '))
  }
  return read.toSorted()
}

describe('who listens to the notes', () => {
  startWith()

  it('is told of one that was added, of one that was replaced, and of one that was deleted', async () => {
    const stream = await listening()
    const both = ['updated note://milk', 'updated notes://index']
    await client.call('add_note', { id: 'milk', text: 'Two litres.' })
    expect(await read(stream, 3)).toEqual(['list_changed', ...both])
    await client.call('add_note', { id: 'milk', text: 'Three litres.', replace: true })
    expect(await read(stream, 2)).toEqual(both)
    await client.answer(
      'delete_note',
      { id: 'milk' },
      { answers: { confirm: { action: 'accept', content: { confirm: true } } } },
    )
    expect(await read(stream, 3)).toEqual(['list_changed', ...both])
    await stream.cancel()
  })

  it('is told nothing of what was refused, or of notes it did not name', async () => {
    const stream = await listening()
    await client.call('add_note', { id: 'Milk & eggs', text: 'Two litres.' }, { unchecked: true })
    await client.call('add_note', { id: 'eggs', text: 'Six.' })
    expect(await read(stream, 2)).toEqual(['list_changed', 'updated notes://index'])
    await stream.cancel()
  })
})
