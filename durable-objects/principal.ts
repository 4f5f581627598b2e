// What is known of one identified principal: its tasks, so that open ones can be limited and its own be listed. Only tasks
// touch it. An entry ends with what it names.

import { DurableObject } from 'cloudflare:workers'
import { limits } from '../src/limits.ts'
import { setAlarm } from './objects.ts'

/** A task that was made. */
export interface OpenedTask {
  taskId: string
  /** True for a task of 2025-11-25, which can be listed. */
  isListed: boolean
  /** ms since the epoch; Infinity when it is kept. */
  expiresAt: number
}

export class PrincipalObject extends DurableObject<Cloudflare.Env> {
  /** Notes a task. @returns false when too many are open already; one that is known stays so */
  opened({ taskId, isListed, expiresAt }: OpenedTask): boolean {
    this.#createTable()
    const [known] = this.#rows<{ id: string }>('select id from task where id = ?', taskId)
    if (known) return true
    const open = 'is_open = 1 and (expires_at is null or expires_at > ?)'
    const [row] = this.#rows<{ open: number }>(`select count(*) as open from task where ${open}`, Date.now())
    if (row!.open >= limits.principalTasks) return false
    const expires = Number.isFinite(expiresAt) ? expiresAt : null
    this.#sql(
      'insert into task (id, is_listed, is_open, expires_at) values (?, ?, 1, ?)',
      taskId,
      Number(isListed),
      expires,
    )
    this.#arm()
    return true
  }

  /** A task came to its end, and counts no longer. */
  async closed(taskId: string): Promise<void> {
    if (!this.#exists) return
    this.#sql('delete from task where id = ? and is_listed = 0', taskId)
    this.#sql('update task set is_open = 0 where id = ?', taskId)
    // Otherwise the alarm does it.
    if (this.#isEmpty && (await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.deleteAll()
  }

  /**
   * The listed tasks, in the order they were made.
   * @param cursor as an earlier page gave it
   * @returns undefined for a cursor that none gave
   */
  list(cursor: string | undefined): { taskIds: string[]; nextCursor?: string } | undefined {
    const after = cursor === undefined ? 0 : placeOf(cursor)
    if (after === undefined) return undefined
    if (!this.#exists) return cursor === undefined ? { taskIds: [] } : undefined
    if (after > this.#newest) return undefined
    const rows = this.#rows<{ place: number; id: string }>(
      'select place, id from task where is_listed = 1 and place > ? and (expires_at is null or expires_at > ?) order by place limit ?',
      after,
      Date.now(),
      limits.tasksPage + 1,
    )
    const page = rows.slice(0, limits.tasksPage)
    const taskIds = page.map(({ id }) => id)
    return rows.length > page.length ? { taskIds, nextCursor: btoa(`tasks:${page.at(-1)!.place}`) } : { taskIds }
  }

  override async alarm(): Promise<void> {
    if (!this.#exists) return
    this.#prune(Date.now())
    if (this.#isEmpty) await this.ctx.storage.deleteAll()
    else this.#arm()
  }

  /** Reading writes nothing, so the table is made by the first task. */
  #createTable(): void {
    this.#sql(
      `create table if not exists task (
         place integer primary key autoincrement, id text not null unique, is_listed integer not null,
         is_open integer not null, expires_at integer
       )`,
    )
  }

  get #exists(): boolean {
    return this.#rows(`select 1 from sqlite_master where name = 'task'`).length > 0
  }

  get #isEmpty(): boolean {
    return this.#rows('select 1 from task limit 1').length === 0
  }

  get #newest(): number {
    return this.#rows<{ seq: number }>(`select seq from sqlite_sequence where name = 'task'`)[0]?.seq ?? 0
  }

  #prune(now: number): void {
    this.#sql('delete from task where expires_at <= ?', now)
  }

  #arm(): void {
    const [row] = this.#rows<{ at: number | null }>('select min(expires_at) as at from task')
    if (row?.at) setAlarm(this.ctx.storage, row.at)
  }

  #sql(query: string, ...bindings: SqlStorageValue[]): void {
    this.ctx.storage.sql.exec(query, ...bindings)
  }

  #rows<T extends Record<string, SqlStorageValue>>(query: string, ...bindings: SqlStorageValue[]): T[] {
    return this.ctx.storage.sql.exec<T>(query, ...bindings).toArray()
  }
}

function placeOf(cursor: string): number | undefined {
  try {
    const [, place] = /^tasks:([1-9]\d{0,14})$/.exec(atob(cursor)) ?? []
    return place === undefined ? undefined : Number(place)
  } catch {
    // Not base64, so not a cursor of ours.
    return undefined
  }
}
