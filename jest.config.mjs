/** Tests run from source, as ES modules; what a package exports is found in its src folder, so no build is needed first. */
export default {
  rootDir: '.',
  testMatch: ['<rootDir>/{libs,apps,tools}/*/test/**/*.test.ts', '<rootDir>/tools/test/**/*.test.ts'],
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
    '^@recur/(contracts|kernel|platform)$': '<rootDir>/libs/$1/src/index.ts',
    '^@recur/platform/testing$': '<rootDir>/libs/platform/src/testing.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['/dist/'],
};
