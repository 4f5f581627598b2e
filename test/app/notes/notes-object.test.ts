import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { describe, expect, it } from 'vitest'
import { startWith, store } from '../support.ts'

const day = 24 * 60 * 60 * 1000

/** As if the note had been written that many days ago. */
const age = (id: string, days: number) =>
  runInDurableObject(store(), (_notes, { storage }) => {
    storage.sql.exec('update note set changed_at = changed_at - ? where id = ?', days * day, id)
  })

const inStorage = () =>
  runInDurableObject(store(), async (_notes, { storage }) => ({
    tables: storage.sql.exec("select name from sqlite_master where type = 'table' and name = 'note'").toArray().length,
    alarm: await storage.getAlarm(),
  }))

describe('NotesObject', () => {
  startWith()

  it('stores nothing when it is only read', async () => {
    expect(await store().get('milk')).toBeUndefined()
    expect(await store().delete('milk')).toBe(false)
    expect(await store().search(['milk'])).toEqual([])
    expect(await inStorage()).toEqual({ tables: 0, alarm: null })
  })

  it('forgets a note 30 days after it was written and comes back for the next one', async () => {
    await store().put('old', 'x', false)
    await store().put('young', 'x', false)
    await age('old', 30)
    await age('young', 10)
    expect(await runDurableObjectAlarm(store())).toBe(true)
    expect(await store().ids()).toEqual(['young'])
    const { alarm } = await inStorage()
    expect(alarm! - Date.now()).toBeGreaterThan(19 * day)
    expect(alarm! - Date.now()).toBeLessThanOrEqual(20 * day)
  })

  it('leaves nothing behind after the last note', async () => {
    await store().put('old', 'x', false)
    await age('old', 30)
    await runDurableObjectAlarm(store())
    expect(await inStorage()).toEqual({ tables: 0, alarm: null })
    expect(await store().put('new', 'x', false)).toBe('added')
  })

  it('counts a rewritten note as new', async () => {
    await store().put('milk', 'x', false)
    await age('milk', 30)
    await store().put('milk', 'y', true)
    await runDurableObjectAlarm(store())
    expect(await store().ids()).toEqual(['milk'])
  })
})
