export * from './machine.js';
export * from './rejected.js';
