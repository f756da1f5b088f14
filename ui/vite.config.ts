import { fileURLToPath } from 'node:url'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin, type ProxyOptions } from 'vite'

// Font packages name each file twice, woff2 and woff. Every browser that runs
// this interface reads woff2; the other half would only double the binary.
function woff2Only(): Plugin {
  return {
    name: 'woff2-only',
    enforce: 'pre',
    transform(code, id) {
      if (!id.includes('@fontsource') || !id.includes('.css')) return null
      return code.replace(/,\s*url\([^)]*\.woff\)\s*format\('woff'\)/g, '')
    },
  }
}

/** A running host, for `npm run dev`. It answers its own origin only. */
function toHost(target: string): ProxyOptions {
  return {
    target,
    changeOrigin: true,
    configure: (proxy) => proxy.on('proxyReq', (request) => request.setHeader('Origin', target)),
  }
}

export default defineConfig({
  plugins: [woff2Only(), react(), tailwind()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  build: {
    target: 'es2022',
    // The policy is default-src 'self': no data: URLs.
    assetsInlineLimit: 0,
    // Emptied, so that no old asset is embedded; public/.gitkeep comes back.
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What the first screen needs anyway goes into few files: dozens of
        // small ones compress worse and wait for each other.
        advancedChunks: {
          groups: [
            {
              name: 'vendor',
              // Lists that are read page by page come with the screens that have them.
              test: /node_modules\/(?!.*(?:useInfiniteQuery|infiniteQueryObserver|useQueries|queriesObserver)\.js)(react|react-dom|scheduler|zustand|clsx|class-variance-authority|i18next|react-i18next|openapi-fetch|@floating-ui|@tanstack)\//,
            },
            // What only a later screen uses goes with that screen.
            {
              name: 'shared',
              test: /src\/(components|store|domain)\/(?!(diff|log|audit\w*|approve|argv|viewed|draft|Dialog|Field|budget|money|price|policy|ask|sse|Sure|program)\.)/,
            },
          ],
        },
      },
    },
    reportCompressedSize: true,
  },
  server: { proxy: { '/api': toHost(process.env.MOECA_HOST || 'http://127.0.0.1:8788') } },
})
