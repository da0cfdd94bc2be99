-- Documents of an image that its servers read before they reach Steelyard ("contract/images/early.ts").
alter table image
  add early jsonb,
  -- The value of the kernel argument; null: the image has them as a file.
  add early_packed text;
-- The answer to a server's announcement repeats them, because Talos replaces what it read before. They
-- stay when the image is removed: its links keep working.
create table early_documents (
  token_id uuid not null references join_token on delete cascade,
  digest text not null,
  documents jsonb not null,
  created_at timestamptz(3) not null,
  primary key (token_id, digest)
);
alter table join_arrival add early text;
