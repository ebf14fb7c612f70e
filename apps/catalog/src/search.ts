/** Tables made by `searchable`: no row-level security, kept by a trigger, read by `db.search` alone. */
export const searchTables = ['plans_search', 'metrics_search'];
