// Where the notes are: one Durable Object with one table. Its public methods are what `notes(env)` offers; each is one
// call across the network and runs alone, so what belongs together (look, then write) is one method.

import { DurableObject } from 'cloudflare:workers'
import { noteLimits, type Note } from './note.ts'

export class NotesObject extends DurableObject<Cloudflare.Env> {
  /** Writes a note. `exists` and `full` mean that nothing was written. */
  async put(id: string, text: string, replace: boolean): Promise<'added' | 'replaced' | 'exists' | 'full'> {
    const { storage } = this.ctx
    // The table is made by the first write, not in a constructor: an object that was only read stores nothing.
    storage.sql.exec(
      'create table if not exists note (id text primary key, text text not null, changed_at integer not null)',
    )
    const isNew = this.get(id) === undefined
    if (!isNew && !replace) return 'exists'
    if (isNew && this.ids().length >= noteLimits.notes) return 'full'
    storage.sql.exec('insert or replace into note values (?, ?, ?)', id, text, Date.now())
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + noteLimits.keepMs)
    return isNew ? 'added' : 'replaced'
  }

  get(id: string): Note | undefined {
    return this.#select('where id = ?', id)[0]
  }

  /** Removes a note. False if there was none. */
  delete(id: string): boolean {
    if (this.get(id) === undefined) return false
    this.ctx.storage.sql.exec('delete from note where id = ?', id)
    return true
  }

  /** All notes, by id. There are few enough to hand them out whole. */
  all(): Note[] {
    return this.#select('order by id')
  }

  ids(startingWith = ''): string[] {
    return this.all().flatMap(({ id }) => (id.startsWith(startingWith) ? [id] : []))
  }

  /** Notes with every one of `words` in their id or text, in either case. */
  search(words: readonly string[]): Note[] {
    const wanted = words.map((word) => word.toLowerCase())
    return this.all().filter(({ id, text }) => {
      const haystack = `${id}\n${text}`.toLowerCase()
      return wanted.every((word) => haystack.includes(word))
    })
  }

  /** Forgets what nobody wrote for `keepMs`, and comes back when the next note is due. */
  override async alarm(): Promise<void> {
    const { storage } = this.ctx
    storage.sql.exec('delete from note where changed_at <= ?', Date.now() - noteLimits.keepMs)
    const oldest = this.#select('order by changed_at limit 1')[0]
    await (oldest ? storage.setAlarm(oldest.changedAt + noteLimits.keepMs) : storage.deleteAll())
  }

  #select(rest: string, ...bindings: string[]): Note[] {
    const { sql } = this.ctx.storage
    const isEmpty = sql.exec("select 1 from sqlite_master where name = 'note'").toArray().length === 0
    if (isEmpty) return []
    return sql
      .exec<{ id: string; text: string; changedAt: number }>(
        `select id, text, changed_at as changedAt from note ${rest}`,
        ...bindings,
      )
      .toArray()
  }
}
