// The sealing keys of a deployment that sets no STATE_KEYS: minted once, rotated, the previous one kept.
// One object; each isolate asks it once per rotation.

import { DurableObject } from 'cloudflare:workers'
import { limits } from '../src/limits.ts'
import type { SealingKeys } from '../src/server/ports.ts'

type Row = { kid: string; secret: string; created_at: number }

/** Holds at most two keys: nothing sealed outlives one rotation period, so an older one opens nothing. */
export class KeyRingObject extends DurableObject<Cloudflare.Env> {
  /**
   * The keys in force, newest first, made or rotated when they are due.
   * @param now ms since the epoch
   */
  keys(now: number): SealingKeys {
    const { sql } = this.ctx.storage
    // Synchronous from here to the end, so two isolates that race for the first key get the same one.
    sql.exec(
      'create table if not exists sealing_key (kid text primary key, secret text not null, created_at integer not null)',
    )
    const newest = this.#rows()[0]
    if (!newest || now - newest.created_at >= limits.keyRotationMs) this.#mint(now)
    const rows = this.#rows()
    return {
      keys: rows.map(({ kid, secret }) => ({ kid, secret })),
      refreshAt: rows[0]!.created_at + limits.keyRotationMs,
    }
  }

  #rows(): Row[] {
    const { sql } = this.ctx.storage
    return sql
      .exec<Row>('select kid, secret, created_at from sealing_key order by created_at desc, rowid desc')
      .toArray()
  }

  #mint(now: number): void {
    const { sql } = this.ctx.storage
    sql.exec('insert into sealing_key values (?, ?, ?)', crypto.randomUUID(), randomSecret(), now)
    sql.exec(
      'delete from sealing_key where kid not in (select kid from sealing_key order by created_at desc, rowid desc limit 2)',
    )
  }
}

function randomSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
