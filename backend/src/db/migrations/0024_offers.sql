-- Offers: what is sold, one per cluster. An offer outlives its cluster: a new cluster of the same servers can continue it.

create table offer (
  id text primary key check (id ~ '^0x[0-9a-f]{64}$'),
  -- Null after the cluster was removed.
  cluster_id uuid references cluster,
  datacenter_id uuid references datacenter on delete set null,
  status text not null default 'draft' check (status in ('draft', 'listed', 'withdrawn')),
  -- What is sold, and the servers that were counted, as of `computed_at`.
  resources jsonb not null,
  node_ids uuid[] not null,
  computed_at timestamptz(3) not null,
  -- Price per hour. Unconstrained numeric keeps the digits of the decimal text.
  price_amount numeric check (price_amount between 0 and 999999999999.99999999 and scale(price_amount) <= 8),
  price_currency text,
  price_basis text check (price_basis in ('compute_unit', 'server', 'cluster')),
  -- EIP-55 address whose key lets software act for the offer, and when the possession of the key was last proved.
  access_address text,
  proven_at timestamptz(3),
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  check (num_nulls(price_amount, price_currency, price_basis) in (0, 3)),
  constraint offer_cluster unique (cluster_id),
  constraint offer_access_address unique (access_address)
);

-- The search for a cluster's offer: open until an offer is found or the time is over.
create table offer_detection (
  cluster_id uuid primary key references cluster,
  since timestamptz(3) not null,
  ended_at timestamptz(3)
);
insert into offer_detection (cluster_id, since) select id, now() from cluster where deleted_at is null;

-- Nonces that were used for a proof, kept until they would have expired.
create table offer_proof (
  nonce text primary key,
  expires_at timestamptz(3) not null
);

-- Nothing ever wrote this column.
alter table cluster drop column offer_id;
