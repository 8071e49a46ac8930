-- People see where they are signed in. Null: not seen since these columns came.
alter table sessions add client text, add ip text, add last_used_at timestamptz;

-- With which variables a deployment was started: the digest of each sealed value by its key. Null: it never came so far,
-- or not since this column came.
alter table deployments add variables jsonb;
