-- Each recipient of a mail has its own outcome, and is tried again for itself.
create table delivery_recipient (
  delivery_id uuid not null references delivery on delete cascade,
  address text not null,
  attempts integer not null default 0,
  -- When it is tried next; null when it has ended.
  next_at timestamptz(3),
  -- Whether it got the mail; null as long as it waits.
  arrived boolean,
  -- Of the mail server's last reply about it; null if there was none.
  status integer,
  problem text,
  primary key (delivery_id, address),
  constraint delivery_recipient_end check ((arrived is null) = (next_at is not null))
);

-- Until then the receiver wants no message (Retry-After).
alter table channel add column not_before timestamptz(3);
-- Since then the receiver says that it is gone (410), and gets nothing more.
alter table channel add column gone_since timestamptz(3);
