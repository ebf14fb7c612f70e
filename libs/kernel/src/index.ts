export * from './calendar.js';
export * from './ids.js';
export * from './language.js';
export * from './machine.js';
export * from './money.js';
export * from './rate.js';
export * from './rejected.js';
