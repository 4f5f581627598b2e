// What an earlier version stored of a session goes on under this one.

import { runInDurableObject } from 'cloudflare:test'
import { expect, test } from 'vitest'
import { serve } from '../support/serve.ts'
import { logsOf, query, sessionOf, stubOf, tool } from './support.ts'

/** The tables of 0.2.0. */
const FIRST = `
  create table call (
    stream integer primary key autoincrement, state text not null, call text not null, memory text, ended_at integer,
    attempts integer not null default 0
  );
  create table event (id integer primary key, text text not null);
  create table ask (
    id text primary key, stream integer not null, key text not null, wire text not null, method text not null,
    expires_at integer not null
  ) without rowid;
  create table setting (name text primary key, value text not null) without rowid;
  create table subscription (uri text primary key) without rowid;
  insert into setting values ('schema', '1'), ('epoch', 'old'), ('level', 'error');
  insert into call (state, call, memory, ended_at) values ('finished', '', null, 9e15);
  insert into event values (1048577, '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"old"}}');`

test('a session of 0.2.0 keeps its level and its streams, and begins new ones', async () => {
  const says = tool('says', (ctx) => {
    ctx.log('info', 'quietly')
    ctx.log('error', 'loudly')
    return 'said'
  })
  const session = await sessionOf(serve({ tools: [says] }))
  await runInDurableObject(stubOf(session), (_object, { storage }) => void storage.sql.exec(FIRST))
  const stream = await session.callStream('says')
  expect(logsOf((await stream.rest()).slice(0, -1))).toEqual(['loudly'])
  expect(await query(session, 'select stream, task from call')).toEqual([
    { stream: 1, task: null },
    { stream: 2, task: null },
  ])
  expect(await query(session, `select value from setting where name = 'schema'`)).toEqual([{ value: '2' }])
  const old = await session.listen({ stream, lastEventId: stream.lastEventId!.replace(/\.2\.\d+$/, '.1.0') })
  expect((await old.until(({ method }) => method !== undefined)).params?.['data']).toBe('old')
  await old.cancel()
})
