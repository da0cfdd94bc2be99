-- How a session was signed in, whether with a second factor (or by a provider, which vouches for it), and the last proof of identity.
alter table session
  add column method text not null default 'password' check (method in ('password', 'passkey', 'provider')),
  add column has_second_factor boolean not null default false,
  add column proved_at timestamptz(3);
update session set proved_at = created_at;
alter table session alter column proved_at set not null, alter column method drop default, alter column has_second_factor drop default;

-- Without a password, a person signs in with a passkey or through the provider.
alter table person alter column password_hash drop not null;

-- The account of a person at the OpenID Connect provider. Only issuer and subject identify it for good: an email may be given to somebody else.
create table person_identity (
  issuer text not null,
  subject text not null,
  person_id uuid not null references person on delete cascade,
  created_at timestamptz(3) not null,
  primary key (issuer, subject)
);
create index person_identity_person on person_identity (person_id);

-- The authenticator app of a person, and a new one that was not confirmed yet. `last_step` is the time step of the last accepted code: no code works twice.
create table totp (
  person_id uuid primary key references person on delete cascade,
  secret_sealed bytea,
  since timestamptz(3),
  last_step bigint,
  pending_sealed bytea,
  pending_until timestamptz(3),
  constraint totp_whole check ((secret_sealed is null) = (since is null) and (pending_sealed is null) = (pending_until is null))
);

-- Only keyed hashes: a copy of the database signs nobody in. A used code is deleted.
create table recovery_code (
  person_id uuid not null references person on delete cascade,
  hash bytea not null,
  primary key (person_id, hash)
);

create table passkey (
  id uuid primary key default gen_random_uuid(),
  person_id uuid not null references person on delete cascade,
  credential_id text not null,
  public_key bytea not null,
  -- Signature counter of the device; 0 if it has none.
  counter bigint not null,
  transports text[] not null,
  backed_up boolean not null,
  name text not null,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3),
  constraint passkey_credential unique (credential_id)
);
create index passkey_person on passkey (person_id);

-- A challenge that was given to a browser. It is deleted when it is answered, so it is answered once. Its random values are derived from its id.
create table sign_in_challenge (
  id uuid primary key default gen_random_uuid(),
  kind text not null check (kind in ('passkey_sign_in', 'passkey_proof', 'passkey_new', 'provider_sign_in', 'provider_proof')),
  -- The session that asked for it; null for a sign-in.
  session_id uuid references session on delete cascade,
  -- Hash of the cookie of the browser that began a sign-in at the provider.
  browser_hash bytea,
  return_to text,
  expires_at timestamptz(3) not null
);
create index sign_in_challenge_expiry on sign_in_challenge (expires_at);

-- Only hashes: a copy of the database lets no program in.
create table api_token (
  id uuid primary key default gen_random_uuid(),
  person_id uuid not null references person on delete cascade,
  name text not null,
  hash bytea not null,
  scopes text[] not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  last_used_at timestamptz(3),
  last_used_ip text,
  constraint api_token_hash unique (hash),
  constraint api_token_name unique (person_id, name)
);
create index api_token_expiry on api_token (expires_at);

create table invitation (
  id uuid primary key default gen_random_uuid(),
  email text not null,
  name text not null,
  role text not null check (role in ('viewer', 'operator', 'admin')),
  hash bytea not null,
  invited_by text,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  constraint invitation_email unique (email),
  constraint invitation_hash unique (hash),
  constraint invitation_email_lower check (email = lower(email))
);
