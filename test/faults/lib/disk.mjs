// What a killed server left on disk. Databases are copied before they are opened: opening finishes what a kill interrupted,
// which is the next server's business.

import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const worker = 'mcp-edge-faults'

/** The ids of the objects of a class that were ever woken. */
export function objectsOf(stateDir, className) {
  const folder = folderOf(stateDir, className)
  if (!existsSync(folder)) return []
  return readdirSync(folder).flatMap((name) => /^([0-9a-f]{64})\.sqlite$/.exec(name)?.[1] ?? [])
}

/** Opens objects of a class, by id, and gives each to `use`; an object that is gone gives nothing. */
export function readObjects(stateDir, className, ids, use) {
  return readFiles(folderOf(stateDir, className), ids, use)
}

/** The ids of the objects of a class for which an alarm is set. */
export function alarmsOf(stateDir, className) {
  const [alarms] = readFiles(folderOf(stateDir, className), ['metadata'], (_, db) => db.rows('_cf_ALARM'))
  return (alarms ?? []).map(({ actor_id }) => actor_id)
}

/** How many entries and rows each table has, those of the platform for alarms aside. */
export function contentsOf(db) {
  const names = db.tables.filter((name) => !['_cf_METADATA', '_cf_ALARM'].includes(name))
  return Object.fromEntries(names.map((name) => [name, db.rows(name).length]))
}

function readFiles(folder, names, use) {
  const copies = mkdtempSync(join(tmpdir(), 'faults-disk-'))
  try {
    return names.flatMap((name) => {
      const file = join(copies, `${name}.sqlite`)
      for (const end of ['', '-wal']) {
        const original = join(folder, `${name}.sqlite${end}`)
        if (existsSync(original)) copyFileSync(original, file + end)
      }
      const db = new Database(new DatabaseSync(file))
      try {
        const found = use(name, db)
        return found === undefined ? [] : [found]
      } finally {
        db.close()
      }
    })
  } finally {
    rmSync(copies, { recursive: true, force: true })
  }
}

class Database {
  #db

  constructor(db) {
    this.#db = db
  }

  get tables() {
    return this.#db
      .prepare(`select name from sqlite_master where type = 'table'`)
      .all()
      .map(({ name }) => name)
  }

  /** All rows of a table; none where there is no such table. */
  rows(table) {
    if (!this.tables.includes(table)) return []
    const query = this.#db.prepare(`select * from "${table}"`)
    // Times of alarms are nanoseconds.
    query.setReadBigInts(table.startsWith('_cf_'))
    return query.all()
  }

  close() {
    this.#db.close()
  }
}

function folderOf(stateDir, className) {
  return join(stateDir, `${worker}-${className}`)
}
