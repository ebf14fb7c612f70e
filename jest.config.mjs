/** Tests run from source, as ES modules; what a package exports is found in its src folder, so no build is needed first. */
const common = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        module: { type: 'es6' },
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
      },
    ],
  },
  moduleNameMapper: {
    '^@recur/(client|contracts|kernel|platform)$': '<rootDir>/libs/$1/src/index.ts',
    '^@recur/platform/mail$': '<rootDir>/libs/platform/src/outbound/mail.ts',
    '^@recur/platform/testing$': '<rootDir>/libs/platform/src/testing/index.ts',
    '^@recur/platform/testing/size$': '<rootDir>/libs/platform/src/testing/size.ts',
    '^fast-check$': '<rootDir>/tools/suite/fast-check.mjs',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['/dist/'],
};

/** Servers that stand in for Stripe, which `npm run stripe-test` starts: see tools/stripe/stripe.ts. */
const standIns = ['STRIPE_MOCK_URL', 'LOCALSTRIPE_URL'].filter(name => process.env[name]);

/** The services are started when at least one test of the second project is about to run (tools/testSetup.mjs). */
export default {
  // on a machine with more cores, too many whole stacks would start at once
  maxWorkers: 2,
  // a worker keeps something of every file, and one that holds gigabytes takes longer to end than jest waits
  workerIdleMemoryLimit: '1GB',
  // tests that draw cases draw them from it: npm test -- --seed
  showSeed: true,
  testSequencer: '<rootDir>/tools/testSequencer.mjs',
  // no test is about time: this only ends one that hangs, on a machine that does other things too. Jest heeds it here alone
  testTimeout: 600_000,
  projects: [
    {
      ...common,
      displayName: 'plain',
      testMatch: [
        '<rootDir>/{libs/client,libs/contracts,libs/kernel,apps/portal}/test/**/*.test.ts',
        '<rootDir>/tools/test/**/*.test.ts',
      ],
    },
    {
      ...common,
      displayName: 'services',
      testMatch: [
        '<rootDir>/{libs/platform,apps/!(portal)}/test/**/*.test.ts',
        '<rootDir>/tools/{journeys,bench,chaos,migration}/test/**/*.test.ts',
      ],
      globalSetup: '<rootDir>/tools/testSetup.mjs',
      globalTeardown: '<rootDir>/tools/testTeardown.mjs',
    },
    ...(standIns.length > 0
      ? [{ ...common, displayName: 'stripe', testMatch: ['<rootDir>/apps/billing/test/gateways/stand-ins/run.ts'] }]
      : []),
  ],
};
