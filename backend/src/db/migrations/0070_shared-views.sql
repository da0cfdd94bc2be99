-- Views of lists that everybody sees. A view stays when its author is removed.
create table shared_view (
  id uuid primary key default gen_random_uuid(),
  -- The list's noun in plural.
  list text not null,
  name text not null check (name <> ''),
  -- Search text, filters and order, as in the console's URL.
  search jsonb not null,
  author_id uuid references person on delete set null,
  author text not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  constraint shared_view_name unique (list, name)
);
create index shared_view_author on shared_view (author_id);
