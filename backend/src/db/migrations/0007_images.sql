-- Images that were prepared. The schematic's text holds a join token, so what it is made from is kept instead of the text.

create table image (
  id uuid primary key default gen_random_uuid(),
  talos_version text not null,
  arch text not null check (arch in ('amd64', 'arm64')),
  secureboot boolean not null,
  extensions text[] not null,
  -- Those of a person; the announcement is made from the token.
  kernel_args text[] not null,
  format text not null check (format in ('iso', 'pxe', 'raw', 'qcow2')),
  datacenter_id uuid references datacenter on delete set null,
  token_id uuid references join_token,
  -- Addresses that stood in it: settings may change afterwards, an image doesn't.
  public_url text not null,
  factory_url text not null,
  factory_simulated boolean not null default false,
  schematic_id text not null,
  registered_at timestamptz(3),
  reason text,
  created_by text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  version bigint not null default 1
);
create index image_created on image (created_at desc);
