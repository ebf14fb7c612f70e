-- The databases of recur, their roles and rights, for a PostgreSQL server that has none of them yet; run by psql as a
-- superuser. Each service has a database of its own and two login roles: <service>_owner, which migrations run as, and
-- <service>_app, which the service runs as: it reads and writes rows, changes no schema, and is bound by row-level
-- security. Neither reaches another service's database.
--
-- The passwords are psql variables, taken from the environment (IDENTITY_OWNER_PASSWORD and so on, see env.example).
-- The local stack runs this same file through the few lines of tools/local/psqlScript.ts, which know \getenv, \set,
-- \connect and :'variable', and nothing more of psql.

\set ON_ERROR_STOP on
\getenv identity_owner_password IDENTITY_OWNER_PASSWORD
\getenv identity_app_password IDENTITY_APP_PASSWORD
\getenv catalog_owner_password CATALOG_OWNER_PASSWORD
\getenv catalog_app_password CATALOG_APP_PASSWORD
\getenv billing_owner_password BILLING_OWNER_PASSWORD
\getenv billing_app_password BILLING_APP_PASSWORD
\getenv notification_owner_password NOTIFICATION_OWNER_PASSWORD
\getenv notification_app_password NOTIFICATION_APP_PASSWORD

revoke connect on database postgres from public;
revoke connect on database template1 from public;

-- identity
create role identity_owner login nosuperuser nocreatedb nocreaterole nobypassrls password :'identity_owner_password';
create role identity_app login nosuperuser nocreatedb nocreaterole nobypassrls password :'identity_app_password';
create database recur_identity owner identity_owner;
revoke all on database recur_identity from public;
grant connect on database recur_identity to identity_app;
\connect recur_identity
alter schema public owner to identity_owner;
revoke all on schema public from public;
grant usage on schema public to identity_app;
alter default privileges for role identity_owner in schema public grant select, insert, update, delete on tables to identity_app;
alter default privileges for role identity_owner in schema public grant usage, select on sequences to identity_app;

-- catalog
create role catalog_owner login nosuperuser nocreatedb nocreaterole nobypassrls password :'catalog_owner_password';
create role catalog_app login nosuperuser nocreatedb nocreaterole nobypassrls password :'catalog_app_password';
create database recur_catalog owner catalog_owner;
revoke all on database recur_catalog from public;
grant connect on database recur_catalog to catalog_app;
\connect recur_catalog
alter schema public owner to catalog_owner;
revoke all on schema public from public;
grant usage on schema public to catalog_app;
alter default privileges for role catalog_owner in schema public grant select, insert, update, delete on tables to catalog_app;
alter default privileges for role catalog_owner in schema public grant usage, select on sequences to catalog_app;

-- billing
create role billing_owner login nosuperuser nocreatedb nocreaterole nobypassrls password :'billing_owner_password';
create role billing_app login nosuperuser nocreatedb nocreaterole nobypassrls password :'billing_app_password';
create database recur_billing owner billing_owner;
revoke all on database recur_billing from public;
grant connect on database recur_billing to billing_app;
\connect recur_billing
alter schema public owner to billing_owner;
revoke all on schema public from public;
grant usage on schema public to billing_app;
alter default privileges for role billing_owner in schema public grant select, insert, update, delete on tables to billing_app;
alter default privileges for role billing_owner in schema public grant usage, select on sequences to billing_app;

-- notification
create role notification_owner login nosuperuser nocreatedb nocreaterole nobypassrls password :'notification_owner_password';
create role notification_app login nosuperuser nocreatedb nocreaterole nobypassrls password :'notification_app_password';
create database recur_notification owner notification_owner;
revoke all on database recur_notification from public;
grant connect on database recur_notification to notification_app;
\connect recur_notification
alter schema public owner to notification_owner;
revoke all on schema public from public;
grant usage on schema public to notification_app;
alter default privileges for role notification_owner in schema public grant select, insert, update, delete on tables to notification_app;
alter default privileges for role notification_owner in schema public grant usage, select on sequences to notification_app;
