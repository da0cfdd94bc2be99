-- Links by which a person sets a new password: one for each, its hash alone.
create table password_reset (
  person_id uuid primary key references person on delete cascade,
  hash bytea not null unique,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
