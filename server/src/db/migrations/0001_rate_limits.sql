-- Requests counted over all replicas, one row a client and limit. Unlogged: written at each request, and worth
-- nothing after a crash, when everybody may start anew.
create unlogged table rate_limits (
  key text primary key,
  hits integer not null,
  expires_at timestamptz not null
);

create index rate_limits_expires_at on rate_limits (expires_at);
