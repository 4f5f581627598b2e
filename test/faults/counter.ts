// Counts effects outside of what is killed: one that happened twice shows, and what changed can be looked up.

import { DurableObject } from 'cloudflare:workers'

/** Counts effects by key. */
export class CounterObject extends DurableObject<Cloudflare.Env> {
  /** @returns how often that happened by now */
  add(key: string): number {
    const { sql } = this.ctx.storage
    sql.exec('create table if not exists effect (key text primary key, count integer not null)')
    const upsert = 'insert into effect values (?, 1) on conflict (key) do update set count = count + 1 returning count'
    return sql.exec<{ count: number }>(upsert, key).one().count
  }

  counts(prefix: string): { [key: string]: number } {
    const { sql } = this.ctx.storage
    if (sql.exec(`select 1 from sqlite_master where name = 'effect'`).toArray().length === 0) return {}
    const rows = sql.exec<{ key: string; count: number }>('select * from effect').toArray()
    return Object.fromEntries(rows.flatMap(({ key, count }) => (key.startsWith(prefix) ? [[key, count]] : [])))
  }
}

export function counter(env: Cloudflare.Env): DurableObjectStub<CounterObject> {
  return (env as unknown as { COUNTER: DurableObjectNamespace<CounterObject> }).COUNTER.getByName('effects')
}
