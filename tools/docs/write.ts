import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkoutRoot } from '../local/home.js';
import { apiReference } from './apiReference.js';

writeFileSync(path.join(checkoutRoot(), 'docs/api-reference.md'), apiReference());
