import { expect, test } from 'vitest'
import { nameOf } from './statements.ts'

test.each([
  ['select "a".* from "server" as "a" where "id" = $1 for update', 'SELECT server'],
  ['\n  insert into wake_up (queue) values ($1) on conflict do update set x = 1', 'INSERT wake_up'],
  ['with woken as (insert into wake_up (queue) values ($1)) select 1 from woken', 'WITH wake_up'],
  ['select 1 from json_to_recordset($1) as r join hold on true', 'SELECT hold'],
  ['update operation_step as s set status = $1', 'UPDATE operation_step'],
  ['delete from "effect"', 'DELETE effect'],
  ['select pg_advisory_xact_lock(hashtextextended($1, 0))', 'SELECT'],
  ['commit', 'COMMIT'],
])('the span of %j is named by its verb and its first table', (sql, name) => {
  expect(nameOf(sql)).toBe(name)
})
