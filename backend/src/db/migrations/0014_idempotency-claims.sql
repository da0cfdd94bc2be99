-- A running call holds a claim: which process runs it, under which number, and when that process was last heard of. `bytes` is what a kept answer takes.
alter table idempotent_call
  drop column headers,
  add column owner text not null default '',
  add column claim uuid not null default gen_random_uuid(),
  add column beat_at timestamptz(3) not null default now(),
  add column bytes integer not null default 512;
update idempotent_call set bytes = 512 + length(answer::text) where answer is not null;
create unique index idempotent_call_claim on idempotent_call (claim);
