-- Labels sort servers and clusters, and notes say what people should know of them. Neither is sent to a
-- server.
alter table server
  add column labels jsonb not null default '{}',
  add column notes text not null default '';
alter table cluster
  add column labels jsonb not null default '{}',
  add column notes text not null default '';
