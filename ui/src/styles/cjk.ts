import '@fontsource/noto-sans-jp/400.css'
import '@fontsource/noto-sans-sc/400.css'
