import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkoutRoot } from '../local/home.js';
import { apiReference } from './apiReference.js';
import { formatted } from './formatted.js';

const file = 'docs/api-reference.md';
writeFileSync(path.join(checkoutRoot(), file), formatted(apiReference(), file));
