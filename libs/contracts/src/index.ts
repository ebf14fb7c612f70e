export * from './errors.js';
export * from './operation.js';
