import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Static files under /portal/, where the gateway and any other web server have them; nothing is inlined, as the policy forbids it. */
export default defineConfig({
  base: '/portal/',
  plugins: [react()],
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
});
