-- People see where they are signed in. Null: not seen since these columns came.
alter table sessions add client text, add ip text, add last_used_at timestamptz;

-- With which variables a deployment was started: the digest of each sealed value by its key. Apart from the deployments,
-- which are read far more often than this is.
create table deployment_variables (
  deployment_id text primary key references deployments on delete cascade,
  digests jsonb not null
);
